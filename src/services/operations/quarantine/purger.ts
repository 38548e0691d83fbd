import { type Loop, startLoop } from '../../../lib/start-loop.ts'
import { namedLease } from '../../../storage/stores/lease-store.ts'
import type { QuarantineDeps } from './quarantine-deps.ts'
import type { QuarantineService } from './quarantine-service.ts'

const PURGE_MS = 600_000
const LEASE_MS = 1_800_000

/**
 * Every ten minutes, deletes files whose time in quarantine has passed. Of several processes on one state, one does it.
 */
export function startQuarantinePurger(deps: QuarantineDeps, quarantine: QuarantineService): Loop {
  return startLoop({
    everyMs: deps.purgeMs ?? PURGE_MS,
    lease: namedLease(deps, 'quarantine', LEASE_MS),
    tick: () => quarantine.purgeDue(),
    onError: (error) => deps.log.warn('the quarantine could not be looked through', { error }),
  })
}
