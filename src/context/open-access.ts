import { type Loop, startLoop } from '../lib/start-loop.ts'
import { type AccessService, createAccessService } from '../services/identity/access/access-service.ts'
import type { Logger } from '../services/logger.ts'
import { createSettingsStore } from '../storage/stores/settings-store.ts'
import { createObjectTables } from '../services/identity/access/object-tables.ts'
import { createApprovalStore } from '../storage/stores/approvals/approval-store.ts'
import { createEnvironmentStore } from '../storage/stores/environment-store.ts'
import { createOperationStore } from '../storage/stores/operations/operation-store.ts'
import { createQuarantineStore } from '../storage/stores/operations/quarantine-store.ts'
import { createPipelineStore } from '../storage/stores/pipelines/pipeline-store.ts'
import { createVersionStore } from '../storage/stores/version-store.ts'
import type { State } from './open-state.ts'

/** How often grants of other processes are read. */
const POLL_MS = 500

/** Grants on tables, read before the first request. */
export function openAccess(state: State, now: () => Date): Promise<AccessService> {
  const { db } = state
  const objects = createObjectTables({
    pipelines: createPipelineStore(db),
    versions: createVersionStore(db),
    environments: createEnvironmentStore(db),
    operations: createOperationStore(db),
    quarantine: createQuarantineStore(db),
    approvals: createApprovalStore(db),
  })
  return createAccessService({ ...state, settings: createSettingsStore(db), objects, now })
}

/** Reads grants that another process with the same state has changed. A process that is alone has always the newest. */
export function followGrants(access: AccessService, log: Logger): Loop {
  return startLoop({
    everyMs: POLL_MS,
    tick: () => access.refresh(),
    onError: (error) => log.warn('the grants could not be read', { error }),
  })
}
