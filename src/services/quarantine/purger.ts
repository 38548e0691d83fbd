import { sleep } from '../../iceberg/sleep.ts'
import type { QuarantineDeps } from './quarantine-deps.ts'
import type { QuarantineService } from './quarantine-service.ts'

/** Deletes files whose time in quarantine has passed, on one of the processes that share the state. */
export interface QuarantinePurger {
  start(): void
  close(): Promise<void>
}

const LEASE = 'quarantine'
const PURGE_MS = 600_000
const LEASE_MS = 1_800_000

/** A purger that looks every ten minutes. */
export function createQuarantinePurger(deps: QuarantineDeps, quarantine: QuarantineService): QuarantinePurger {
  const stopping = new AbortController()
  let loop: Promise<void> | undefined
  const { leases, instance, now, log, purgeMs = PURGE_MS } = deps
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const nowMs = now().getTime()
        const isAlive = (id: number): Promise<boolean> => instance.isAlive(id)
        const request = { owner: instance.id, nowMs, untilMs: nowMs + LEASE_MS, isAlive }
        if (await leases.take(LEASE, request)) await quarantine.purgeDue()
      } catch (error) {
        log.warn('the quarantine could not be looked through', { error })
      }
      await sleep(purgeMs, stopping.signal).catch(() => undefined)
    }
  }
  return {
    start() {
      loop ??= run()
    },
    async close() {
      stopping.abort()
      await loop
      await leases.release(LEASE, instance.id).catch(() => undefined)
    },
  }
}
