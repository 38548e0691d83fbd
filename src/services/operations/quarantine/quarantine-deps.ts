import type { IdSource } from '../../../domain/ids.ts'
import type { QuarantineStore } from '../../../storage/stores/operations/quarantine-store.ts'
import type { LeaseStore } from '../../../storage/stores/lease-store.ts'
import type { Instance } from '../../../storage/instance-registry.ts'
import type { InTransaction } from '../../../storage/transactions.ts'
import type { AuditRecorder } from '../../audit/audit-service.ts'
import type { CatalogService } from '../../catalogs/catalog-service.ts'
import type { Logger } from '../../logger.ts'
import type { TableLock } from '../../tables/table-lock.ts'

/** What the quarantine needs. */
export interface QuarantineDeps {
  readonly store: QuarantineStore
  readonly catalog: CatalogService
  readonly leases: LeaseStore
  /** The locks of operations: files are deleted while no operation works on their table. */
  readonly lock: TableLock
  readonly instance: Instance
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  /** How long files are kept; 0: they are deleted at once. */
  readonly days: number
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Between two looks for entries whose time has passed, ms. */
  readonly purgeMs?: number | undefined
}
