import type { Prices } from '../domain/tables/prices.ts'
import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import type { GraphService } from '../services/lifecycle/graph-service.ts'
import type { LineageService } from '../services/lineage/lineage-service.ts'
import { createIcebergRestService } from '../services/iceberg-rest/iceberg-rest-service.ts'
import { createTableReports } from '../services/iceberg-rest/table-reports.ts'
import type { Logger } from '../services/logger.ts'
import type { SparkEngine } from '../maintenance/spark/spark-engine.ts'
import { createMaintenanceService } from '../services/operations/maintenance-service.ts'
import { createOperationLedger, type NewOperation } from '../services/operations/ledger.ts'
import { createOperationService } from '../services/operations/operation-service.ts'
import { createSavingsService } from '../services/operations/savings/savings-service.ts'
import { createTableLock, type LockTimes } from '../services/tables/table-lock.ts'
import type { FilePlanner } from '../services/query/plan-files.ts'
import { createMeasureSample } from '../services/query/profile/measure-sample.ts'
import { createReconciler } from '../services/operations/reconciler.ts'
import { createTableService, type TableService } from '../services/tables/table-service.ts'
import { createOperationStore, type OperationOutcome } from '../storage/stores/operations/operation-store.ts'
import { createSavingsStore } from '../storage/stores/operations/savings-store.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createPipelineStore } from '../storage/stores/pipelines/pipeline-store.ts'
import { createTableReportStore } from '../storage/stores/tables/report-store.ts'
import { createPlanStore } from '../storage/stores/operations/plan-store.ts'
import type { TableGuard } from '../maintenance/table-guard.ts'
import type { TotalsSource } from '../maintenance/inspection/totals/totals-source.ts'
import { createPipelineGuard } from '../streaming/supervision/pipeline-guard.ts'
import { openQuarantine } from './open-quarantine.ts'
import type { State } from './open-state.ts'

export interface MaintenanceParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly graphs: GraphService
  readonly environments: Pick<EnvironmentService, 'list'>
  readonly lineage: Pick<LineageService, 'impact'>
  readonly engine: Engine
  readonly totals: TotalsSource
  readonly planner: FilePlanner
  /** Undefined: no Spark server is configured. */
  readonly spark: SparkEngine | undefined
  readonly embeddedMaxBytes: number
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly prices: Prices
  readonly lockTimes?: Partial<LockTimes> | undefined
  readonly quarantineDays: number
  readonly onOperation: (operation: NewOperation, outcome: OperationOutcome) => void
}

/** Creates the services for tables and operations, and the reconciler for operations interrupted by a crash. */
export function openMaintenance(parts: MaintenanceParts) {
  const { state, catalog, graphs, environments, engine, totals, newId, now, log } = parts
  const { db, instance, inTransaction, audit, events } = state
  const store = createOperationStore(db)
  const ledger = createOperationLedger({
    inTransaction,
    audit,
    events,
    instanceId: instance.id,
    onFinished: parts.onOperation,
  })
  const lock = createTableLock({ leases: createLeaseStore(db), instance, now, log, times: parts.lockTimes })
  const operations = createOperationService({ operations: store, ledger, newId, now, log, lock, prices: parts.prices })
  const pipelines = createPipelineGuard({
    store: createPipelineStore(db),
    catalog: () => catalog.current(),
    checkpointIo: new LocalFileIO(),
    queryOf: (record) => graphs.queryOf(record),
  })
  const tables = openTables(parts, pipelines)
  const quarantine = openQuarantine({ ...parts, lock })
  const guard = {
    ...pipelines,
    usersOf: async (...[table, columns]: Parameters<typeof pipelines.usersOf>) => [
      ...(await pipelines.usersOf(table, columns)),
      ...(await graphs.columnUsers(table, columns)),
    ],
  }
  const maintenance = createMaintenanceService({
    catalog,
    quarantine: quarantine.quarantine,
    engine,
    engines: { spark: parts.spark, embeddedMaxBytes: parts.embeddedMaxBytes },
    operations,
    tables,
    totals,
    plans: createPlanStore(db),
    guard,
    lineage: parts.lineage,
    newId,
    now,
  })
  const isAlive = (id: number) => instance.isAlive(id)
  const reconciler = createReconciler({
    catalog,
    operations: store,
    ledger,
    quarantine: quarantine.quarantine,
    isAlive,
    lock,
    resume: (operation) => maintenance.resume(operation),
    now,
    log,
  })
  const savings = createSavingsService({ store: createSavingsStore(db), now, prices: parts.prices })
  const reports = createTableReports({ store: createTableReportStore(db), newId, now })
  const icebergRest = createIcebergRestService({ catalog, guard, environments, inTransaction, audit, reports })
  return { ...quarantine, tables, operations, savings, maintenance, reconciler, icebergRest, reports }
}

function openTables(
  { state, catalog, totals, engine, planner, now }: MaintenanceParts,
  guard: Pick<TableGuard, 'pipelinesOf'>,
): TableService {
  const measureSample = createMeasureSample({ ...state, engine, planner, now })
  return createTableService({ ...state, catalog, totals, measureSample, guard, now })
}
