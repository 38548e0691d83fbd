import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import type { GraphService } from '../services/graph-service.ts'
import type { Logger } from '../services/logger.ts'
import { createMaintenanceService } from '../services/maintenance-service.ts'
import { createOperationLedger } from '../services/operation-ledger.ts'
import { createOperationService } from '../services/operation-service.ts'
import { createReconciler } from '../services/reconciler.ts'
import { createTableService } from '../services/table-service.ts'
import { createOperationStore } from '../storage/operation-store.ts'
import { createPipelineStore } from '../storage/pipeline-store.ts'
import { createPlanStore } from '../storage/plan-store.ts'
import { createPipelineGuard } from '../streaming/pipeline-guard.ts'
import type { State } from './open-state.ts'

export interface MaintenanceParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly graphs: GraphService
  readonly engine: Engine
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
}

/** Tables, the operations on them, and what settles those that a crash left. */
export function openMaintenance({ state, catalog, graphs, engine, newId, now, log }: MaintenanceParts) {
  const { db, instance, inTransaction, audit, events } = state
  const store = createOperationStore(db)
  const ledger = createOperationLedger({ inTransaction, audit, events, instanceId: instance.id })
  const tables = createTableService({ catalog, inTransaction, audit, events, now })
  const operations = createOperationService({ operations: store, ledger, newId, now, log })
  const pipelines = createPipelineGuard({
    store: createPipelineStore(db),
    catalog: () => catalog.current(),
    queryOf: (record) => graphs.queryOf(record),
  })
  const maintenance = createMaintenanceService({
    catalog,
    engine,
    operations,
    tables,
    plans: createPlanStore(db),
    guard: {
      ...pipelines,
      usersOf: async (table, column) => [
        ...(await pipelines.usersOf(table, column)),
        ...(await graphs.columnUsers({ table, path: column.path })),
      ],
    },
    newId,
    now,
  })
  const isAlive = (id: number) => instance.isAlive(id)
  const reconciler = createReconciler({ catalog, operations: store, ledger, isAlive, now, log })
  return { tables, operations, maintenance, reconciler }
}
