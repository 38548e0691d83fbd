import type { IdSource } from '../domain/ids.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { Logger } from '../services/logger.ts'
import type { TableLock } from '../services/tables/table-lock.ts'
import { startQuarantinePurger } from '../services/operations/quarantine/purger.ts'
import { createQuarantineService } from '../services/operations/quarantine/quarantine-service.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createQuarantineStore } from '../storage/stores/operations/quarantine-store.ts'
import type { State } from './open-state.ts'

export interface QuarantineParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly quarantineDays: number
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly lock: TableLock
}

/** Creates the quarantine; `startPurger` starts what deletes its files in the end. */
export function openQuarantine({ state, quarantineDays, ...parts }: QuarantineParts) {
  const stores = { store: createQuarantineStore(state.db), leases: createLeaseStore(state.db) }
  const deps = { ...state, ...parts, ...stores, days: quarantineDays }
  const quarantine = createQuarantineService(deps)
  return { quarantine, startPurger: () => startQuarantinePurger(deps, quarantine) }
}
