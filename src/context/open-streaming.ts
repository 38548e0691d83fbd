import type { Kysely } from 'kysely'
import type { Caller } from '../domain/roles.ts'
import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import type { Loop } from '../lib/start-loop.ts'
import type { AuditRecorder } from '../services/audit/audit-service.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import { deploymentGuard } from '../services/deployments/deployment-guard.ts'
import { maintainSink, missingSinkPolicy } from '../services/policies/sink-policy.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import type { EventWriter } from '../services/events/event-log.ts'
import type { GraphService } from '../services/lifecycle/graph-service.ts'
import type { Logger } from '../services/logger.ts'
import {
  createMonitorService,
  type MonitorService,
  type MonitorSettings,
} from '../services/pipelines/monitor-service.ts'
import { createPipelineHistory } from '../services/pipelines/history/pipeline-history.ts'
import {
  createStoredProgress,
  startThinning,
  startWriting,
  type StoredProgress,
} from '../services/pipelines/history/stored-progress.ts'
import { createRecordedPipelines, watchRecoveries } from '../services/pipelines/recorded-pipelines.ts'
import { createPipelineService, type PipelineService } from '../services/pipelines/pipeline-service.ts'
import type { Instance } from '../storage/instance-registry.ts'
import type { PipelineRecord, PipelineStore } from '../storage/stores/pipelines/pipeline-store.ts'
import type { StateTables } from '../storage/schema.ts'
import type { InTransaction } from '../storage/transactions.ts'
import { checkpointRoots } from './checkpoint-roots.ts'
import type { SparkStreams } from './open-spark-streams.ts'
import { createBatchSlots } from '../streaming/run/batch-slots.ts'
import { pollOtherInstances } from '../streaming/supervision/other-instances.ts'
import { createMetricsHub, type MetricsHub } from '../streaming/supervision/metrics-hub.ts'
import { createPinKeeper, type PinKeeper } from '../streaming/pins/pin-keeper.ts'
import { reassertPins } from '../streaming/pins/reassert-pins.ts'
import { createSupervisor, type LeaseTimes, type Supervisor } from '../streaming/supervision/supervisor.ts'
import type { BatchObserver } from '../streaming/supervision/run-events.ts'
import type { CheckpointRoots } from '../streaming/checkpoint/location.ts'
import { createTableWatch } from '../streaming/source/table-watch.ts'
import type { BackOff } from '../lib/back-off.ts'

export interface StreamingParts {
  readonly state: {
    readonly db: Kysely<StateTables>
    readonly instance: Instance
    readonly inTransaction: InTransaction
    readonly audit: AuditRecorder
    readonly events: EventWriter
  }
  readonly home: { readonly scratch: string; readonly warehouse: string }
  readonly catalog: CatalogService
  readonly graphs: GraphService
  readonly environments: EnvironmentService
  readonly engine: Engine
  readonly spark: SparkStreams
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly observer?: BatchObserver | undefined
  readonly settings?: StreamingSettings | undefined
  readonly monitorSettings?: Partial<MonitorSettings> | undefined
}

/** Times, shortened in tests. */
export interface StreamingSettings {
  readonly backoff?: BackOff
  readonly lease?: LeaseTimes
  readonly guardPinsMs?: number
  /** How long a degraded pipeline must run without a failure until it has recovered. */
  readonly steadyMs?: number
}

/** Maximum concurrent batches of all pipelines. The engine runs fewer; the others plan or commit meanwhile. */
const CONCURRENT_BATCHES = 4
/** How often changes of pipelines in other processes are polled. */
const POLL_OTHER_INSTANCES_MS = 1000
/** How often the pins of stopped pipelines on their sources are checked. */
const GUARD_PINS_MS = 60_000
/** A degraded pipeline that runs this long without a failure has recovered. */
const STEADY_MS = 30_000

/** What deployments use to start and stop pipelines. */
export interface StreamingInternals {
  readonly store: PipelineStore
  readonly supervisor: Supervisor
  readonly checkpointIo: FileIO
  readonly roots: () => CheckpointRoots
  readonly unpin: (pipeline: PipelineRecord) => Promise<void>
}

/** Services for streaming pipelines. */
export interface Streaming {
  readonly parts: StreamingInternals
  readonly pipelines: PipelineService
  /** Runs the pipelines that should be running, from `start` to `close`. */
  readonly background: Pick<Supervisor, 'start' | 'close'>
  /** Their progress and state changes. */
  readonly hub: MetricsHub
  readonly monitor: MonitorService
}

/** Creates the services for streaming pipelines; none runs before `background` is started. */
export function openStreaming(given: StreamingParts): Streaming {
  const { state, catalog, graphs, environments, engine, newId, now, log, settings, monitorSettings, observer } = given
  const hub = createMetricsHub()
  const { instance, inTransaction, audit, events } = state
  const stored = createStoredProgress({ ...state, now })
  const store = createRecordedPipelines({ ...state, now })
  const checkpointIo = new LocalFileIO() // locations are checked when a pipeline is started
  const current = () => catalog.current()
  const tables = createTableWatch(current)
  const pins = createPinKeeper({
    catalog: current,
    tables,
    nowMs: () => now().getTime(),
    onError: (id, error) => log.warn('a source could not be pinned or unpinned', { pipeline_id: id, error }),
  })
  const supervisor = createSupervisor({
    store,
    pins,
    session: { catalog: current, tables, engine, checkpointIo, now },
    slots: createBatchSlots(CONCURRENT_BATCHES),
    spark: given.spark.server,
    queryOf: (record) => graphs.queryOf(record),
    hub,
    instance,
    log,
    observer,
    ...settings,
  })
  const roots = checkpointRoots(given.home, catalog)
  const unpin = ({ id, sources }: PipelineRecord) => pins.release(id, sources)
  const pipelines = createPipelineService({
    catalog,
    engine,
    spark: given.spark,
    store,
    supervisor,
    history: createPipelineHistory(hub, stored, now),
    checkpointIo,
    roots,
    inTransaction,
    audit,
    events,
    newId,
    now,
    environments,
    versions: graphs,
    owners: deploymentGuard,
    sinkPolicies: {
      requirePossible: async (tx, table) => void (await missingSinkPolicy(tx, table)),
      create: (tx, sink) => maintainSink({ audit, events, newId, now }, tx, sink),
    },
    unpin,
  })
  const listPipelines = (caller: Caller, id: string | undefined) => pipelines.describeAll(caller, id)
  const monitor = createMonitorService({ hub, listPipelines, now, settings: monitorSettings })
  const background = inBackground(supervisor, watchesOf(given, { store, hub, pins, stored }), stored)
  return { parts: { store, supervisor, checkpointIo, roots, unpin }, pipelines, background, hub, monitor }
}

interface Watched {
  readonly store: PipelineStore
  readonly hub: MetricsHub
  readonly pins: PinKeeper
  readonly stored: StoredProgress
}

/** The periodic work of pipelines; each begins when it is called. */
function watchesOf(
  { state, now, log, settings }: StreamingParts,
  { store, hub, pins, stored }: Watched,
): readonly (() => Loop)[] {
  const { instance } = state
  const onError = (error: unknown): void => log.warn('pipelines could not be checked', { error })
  const guard = () => reassertPins({ store, pins, everyMs: settings?.guardPinsMs ?? GUARD_PINS_MS, onError })
  const recoveries = () => watchRecoveries({ ...state, now, steadyMs: settings?.steadyMs ?? STEADY_MS, onError })
  const follow = () =>
    pollOtherInstances({ store, hub, instanceId: instance.id, everyMs: POLL_OTHER_INSTANCES_MS, onError })
  const onHistoryError = (error: unknown): void => log.warn('the history of pipelines could not be stored', { error })
  const history = [() => startWriting(stored, onHistoryError), () => startThinning(stored, onHistoryError)]
  return [guard, recoveries, ...history, ...(instance.isShared ? [follow] : [])]
}

/** The supervisor together with periodic work. At the end, the history of the last minute is stored. */
function inBackground(
  supervisor: Supervisor,
  watches: readonly (() => Loop)[],
  stored: StoredProgress,
): Streaming['background'] {
  let loops: readonly Loop[] = []
  return {
    async start() {
      loops = watches.map((begin) => begin())
      await supervisor.start()
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.stop()))
      await supervisor.close()
      await stored.write('all').catch(() => undefined) // the state database does not respond
    },
  }
}
