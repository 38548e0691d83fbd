import type { Kysely } from 'kysely'
import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import { realFolder } from '../runtime/real-folder.ts'
import type { AuditRecorder } from '../services/audit-service.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import type { EventWriter } from '../services/event-log.ts'
import type { GraphService } from '../services/graph-service.ts'
import type { Logger } from '../services/logger.ts'
import { createMonitorService, type MonitorService, type MonitorSettings } from '../services/monitor-service.ts'
import { createPipelineHistory } from '../services/pipeline-history.ts'
import { createPipelineService, type PipelineService } from '../services/pipeline-service.ts'
import type { Instance } from '../storage/instance-registry.ts'
import { createPipelineStore } from '../storage/pipeline-store.ts'
import type { StateTables } from '../storage/schema.ts'
import type { InTransaction } from '../storage/transactions.ts'
import { createBatchSlots } from '../streaming/batch-slots.ts'
import { followForeignNews } from '../streaming/foreign-news.ts'
import { createMetricsHub, type MetricsHub } from '../streaming/metrics-hub.ts'
import type { Backoff } from '../streaming/pipeline-runner.ts'
import { createPinKeeper } from '../streaming/pin-keeper.ts'
import { guardRestingPins } from '../streaming/resting-pins.ts'
import { createSupervisor, type LeaseTimes, type Supervisor } from '../streaming/supervisor.ts'
import { isCheckpointFolder } from '../streaming/checkpoint.ts'
import { isTableFolder } from '../streaming/table-folder.ts'
import { createTableWatch } from '../streaming/table-watch.ts'

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
  readonly engine: Engine
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly settings?: StreamingSettings | undefined
  readonly monitorSettings?: Partial<MonitorSettings> | undefined
}

/** Times that tests shorten. */
export interface StreamingSettings {
  readonly backoff?: Backoff
  readonly lease?: LeaseTimes
  readonly guardPinsMs?: number
}

/** Batches of all pipelines that may be under way at once; the engine runs fewer, the others plan and commit. */
const CONCURRENT_BATCHES = 4
/** How often the state database is asked what pipelines of other processes did. */
const FOREIGN_NEWS_MS = 1000
/** How often it is looked whether sources are still kept for pipelines that do not run. */
const GUARD_PINS_MS = 60_000

/** Streaming pipelines: who keeps them running, who starts and stops them, and who tells of them. */
export interface Streaming {
  readonly pipelines: PipelineService
  /** Runs the pipelines that are wanted to run, from `start` to `close`. */
  readonly background: Pick<Supervisor, 'start' | 'close'>
  /** Their news. */
  readonly hub: MetricsHub
  readonly monitor: MonitorService
}

/** Opens the streaming pipelines; none runs before `background` is started. */
export function openStreaming(parts: StreamingParts): Streaming {
  const { state, catalog, graphs, engine, newId, now, log, settings, monitorSettings } = parts
  const hub = createMetricsHub()
  const { instance, inTransaction, audit, events } = state
  const home = parts.home.scratch.slice(0, parts.home.scratch.lastIndexOf('/'))
  const store = createPipelineStore(state.db)
  const checkpointIo = new LocalFileIO() // locations are checked when a pipeline is started
  const isTable = (folder: string) => isTableFolder(checkpointIo, folder)
  const isCheckpoint = (folder: string) => isCheckpointFolder(checkpointIo, folder)
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
    queryOf: (record) => graphs.queryOf(record),
    hub,
    instance,
    log,
    ...settings,
  })
  const pipelines = createPipelineService({
    catalog,
    engine,
    store,
    supervisor,
    hub,
    history: createPipelineHistory(hub, now),
    checkpointIo,
    roots: () => ({ home, warehouse: catalog.current().warehouse, realFolder, isTable, isCheckpoint }),
    inTransaction,
    audit,
    events,
    newId,
    now,
    compileVersion: (id, user) => graphs.compileVersion(id, user),
    unpin: ({ id, sources }) => pins.release(id, sources),
  })
  const listPipelines = (id: string | undefined) => pipelines.describeAll(id)
  const monitor = createMonitorService({ hub, listPipelines, now, settings: monitorSettings })
  const onError = (error: unknown): void => log.warn('pipelines could not be looked at', { error })
  const guard = () => guardRestingPins({ store, pins, everyMs: settings?.guardPinsMs ?? GUARD_PINS_MS, onError })
  const follow = () => followForeignNews({ store, hub, instanceId: instance.id, everyMs: FOREIGN_NEWS_MS, onError })
  const watches = instance.isShared ? [guard, follow] : [guard]
  return { pipelines, background: inBackground(supervisor, watches), hub, monitor }
}

/** The supervisor, and what is looked at beside it: each is begun by a call, and ended by what the call answers. */
function inBackground(
  supervisor: Supervisor,
  watches: readonly (() => () => Promise<void>)[],
): Streaming['background'] {
  let ends: readonly (() => Promise<void>)[] = []
  return {
    async start() {
      ends = watches.map((begin) => begin())
      await supervisor.start()
    },
    async close() {
      await Promise.all(ends.map((end) => end()))
      await supervisor.close()
    },
  }
}
