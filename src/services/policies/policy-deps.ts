import type { Prices } from '../../domain/tables/prices.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { Instance } from '../../storage/instance-registry.ts'
import type { LeaseStore } from '../../storage/stores/lease-store.ts'
import type { OperationStore } from '../../storage/stores/operations/operation-store.ts'
import type { DecisionStore } from '../../storage/stores/policies/decision-store.ts'
import type { PolicyStore } from '../../storage/stores/policies/policy-store.ts'
import type { HealthIndexStore } from '../../storage/stores/tables/health-index-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EventWriter } from '../events/event-log.ts'
import type { Logger } from '../logger.ts'
import type { MaintenanceService } from '../operations/maintenance-service.ts'
import type { Reconciler } from '../operations/reconciler.ts'

/** What policies are decided with. */
export interface PolicyDeps {
  readonly policies: PolicyStore
  readonly decisions: DecisionStore
  readonly index: HealthIndexStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly newId: IdSource
  readonly now: () => Date
  /** For the money in gains. */
  readonly prices: Prices
}

/** What policies are carried out with. */
export interface SchedulerDeps extends PolicyDeps {
  readonly catalog: CatalogService
  readonly maintenance: MaintenanceService
  readonly operations: OperationStore
  readonly reconciler: Reconciler
  readonly leases: LeaseStore
  readonly instance: Pick<Instance, 'id' | 'isAlive' | 'isShared'>
  readonly log: Logger
  /** Between two looks at all tables, ms. */
  readonly tickMs?: number | undefined
}
