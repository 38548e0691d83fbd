import type { Prices } from '../domain/tables/prices.ts'
import type { IdSource } from '../domain/ids.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { TotalsSource } from '../maintenance/inspection/totals/totals-source.ts'
import type { Logger } from '../services/logger.ts'
import type { MaintenanceService } from '../services/operations/maintenance-service.ts'
import type { Reconciler } from '../services/operations/reconciler.ts'
import { createPolicyService } from '../services/policies/policy-service.ts'
import { createPolicyScheduler } from '../services/policies/scheduler.ts'
import { createHealthIndexService } from '../services/tables/health-index/health-index-service.ts'
import { createHealthIndexer, type IndexTimes } from '../services/tables/health-index/indexer.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createOperationStore } from '../storage/stores/operations/operation-store.ts'
import { createDecisionStore } from '../storage/stores/policies/decision-store.ts'
import { createPolicyStore } from '../storage/stores/policies/policy-store.ts'
import { createHealthIndexStore } from '../storage/stores/tables/health-index-store.ts'
import type { State } from './open-state.ts'

/** Times of work on all tables, shortened in tests. */
export interface AutomationTimes {
  /** Leaves all tables alone: for tests that count what is read. */
  readonly isPaused?: boolean
  readonly index?: Partial<IndexTimes>
  /** Between two looks of the policies at all tables, ms. */
  readonly policyTickMs?: number
}

export interface AutomationParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly totals: TotalsSource
  readonly maintenance: MaintenanceService
  readonly reconciler: Reconciler
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly prices: Prices
  readonly times?: AutomationTimes | undefined
}

/** Creates what looks after all tables: the health index and the policies; nothing runs before `automation` is started. */
export function openAutomation({ times, ...parts }: AutomationParts) {
  const { state, catalog, totals, now, log } = parts
  const { db } = state
  const index = createHealthIndexStore(db)
  const leases = createLeaseStore(db)
  const indexer = createHealthIndexer({
    ...state,
    catalog,
    totals,
    store: index,
    leases,
    now,
    log,
    times: times?.index,
  })
  const deps = {
    ...parts,
    ...state,
    index,
    leases,
    policies: createPolicyStore(db),
    decisions: createDecisionStore(db),
    operations: createOperationStore(db),
  }
  const scheduler = createPolicyScheduler({ ...deps, tickMs: times?.policyTickMs })
  return {
    healthIndex: createHealthIndexService(index, { indexer, catalog }),
    policies: createPolicyService({ ...deps, onChange: () => scheduler.wake() }),
    automation: {
      start() {
        if (times?.isPaused) return
        indexer.start()
        scheduler.start()
      },
      async close() {
        await Promise.all([indexer.close(), scheduler.close()])
      },
    },
  }
}
