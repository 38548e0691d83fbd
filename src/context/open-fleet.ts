import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { Logger } from '../services/logger.ts'
import { createHealthIndexService } from '../services/tables/health-index/health-index-service.ts'
import { createHealthIndexer, type IndexTimes } from '../services/tables/health-index/indexer.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createHealthIndexStore } from '../storage/stores/tables/health-index-store.ts'
import type { State } from './open-state.ts'

/** Times of work on all tables, shortened in tests. */
export interface FleetTimes {
  readonly index?: Partial<IndexTimes>
}

export interface FleetParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly now: () => Date
  readonly log: Logger
  readonly times?: FleetTimes | undefined
}

/** Creates what looks after all tables; nothing runs before `fleet` is started. */
export function openFleet({ state, catalog, now, log, times }: FleetParts) {
  const { db } = state
  const store = createHealthIndexStore(db)
  const leases = createLeaseStore(db)
  const indexer = createHealthIndexer({ ...state, catalog, store, leases, now, log, times: times?.index })
  return {
    healthIndex: createHealthIndexService(store, indexer),
    fleet: {
      start: () => indexer.start(),
      close: () => indexer.close(),
    },
  }
}
