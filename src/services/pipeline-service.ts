import { parseIdentifier } from '../catalog/table-identifier.ts'
import type { RequestContext } from '../domain/audit.ts'
import { DomainError } from '../domain/errors.ts'
import type { IdSource } from '../domain/ids.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../domain/trigger-interval.ts'
import type { Engine } from '../engines/engine.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import type { ListPipelinesQuery, StartPipelineRequest } from '../schemas/pipelines.ts'
import { isUniqueViolation } from '../storage/database-error.ts'
import { createPipelineStore, type PipelineRecord, type PipelineStore } from '../storage/pipeline-store.ts'
import type { InTransaction } from '../storage/transactions.ts'
import { type BatchQuery, copyQuery } from '../streaming/batch-query.ts'
import { circleThrough } from '../streaming/circle.ts'
import type { CheckpointRoots } from '../streaming/checkpoint-location.ts'
import type { HubMessage, MetricsHub } from '../streaming/metrics-hub.ts'
import { describePipeline, type PipelineView } from '../streaming/pipeline-view.ts'
import { type CheckedStart, checkStart, createSink, refuse } from '../streaming/start-checks.ts'
import { toStoredPositions } from '../streaming/stored-positions.ts'
import type { Supervisor } from '../streaming/supervisor.ts'
import type { AuditRecorder } from './audit-service.ts'
import type { CatalogService } from './catalog-service.ts'
import type { EventWriter } from './event-log.ts'
import { type ListPage, pageOfList } from './paging.ts'
import type { PipelineHistory, PipelineHistoryView } from './pipeline-history.ts'

/** A definition's version, made ready to run. */
export interface CompiledVersion {
  readonly definitionId: string
  readonly versionId: string
  readonly sources: readonly string[]
  readonly sink: string
  readonly query: BatchQuery
}

export interface PipelineServiceDeps {
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly store: PipelineStore
  readonly supervisor: Supervisor
  readonly hub: MetricsHub
  readonly history: PipelineHistory
  readonly checkpointIo: FileIO
  readonly roots: () => CheckpointRoots
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly newId: IdSource
  readonly now: () => Date
  /** Makes a version ready to run; without it, `version_id` is refused. Throws `DomainError`. */
  readonly compileVersion?: (versionId: string, user: string) => Promise<CompiledVersion>
  /** Lets go of what was kept in a source for a pipeline that is forgotten. */
  readonly unpin?: (record: PipelineRecord) => Promise<void>
}

/** Starts, stops and shows streaming pipelines. */
export interface PipelineService {
  /** Checks all that can be checked, records the pipeline and starts it; refusals name the field. */
  start(request: StartPipelineRequest, context: RequestContext): Promise<PipelineView>
  /** Stops a pipeline; one that does not live stays as it is. Throws `NOT_FOUND`. */
  stop(id: string, mode: 'graceful' | 'immediate', context: RequestContext): Promise<PipelineView>
  /** Throws `NOT_FOUND`. */
  status(id: string): Promise<PipelineView>
  /** What this process saw of it. Throws `NOT_FOUND`. */
  history(id: string): Promise<PipelineHistoryView>
  /** Newest first. */
  list(query: ListPipelinesQuery): Promise<ListPage<PipelineView>>
  /** Forgets a pipeline that does not live. Throws `NOT_FOUND`, `CONFLICT`. */
  forget(id: string, context: RequestContext): Promise<void>
  /** All pipelines, or one, as a monitor greets with them. Throws `NOT_FOUND`. */
  describeAll(id?: string): Promise<readonly PipelineView[]>
  /** News of all pipelines, or of one; see {@link MetricsHub.subscribe}. */
  subscribe(signal: AbortSignal, pipelineId?: string): AsyncGenerator<HubMessage, void, undefined>
}

const DEFAULT_MAX_FILES = 1000
const DEFAULT_MAX_BYTES = 2 ** 30

/** Pipelines over a supervisor. */
export function createPipelineService(deps: PipelineServiceDeps): PipelineService {
  const find = async (id: string): Promise<PipelineRecord> => {
    const record = await deps.store.find(id)
    if (!record) throw new DomainError('NOT_FOUND', `no pipeline ${id}`)
    return record
  }
  return {
    start: (request, context) => start(deps, request, context),
    async stop(id, mode, context) {
      await find(id)
      await deps.inTransaction(async (tx) => {
        if (!(await createPipelineStore(tx).requestStop(id))) return
        await record(deps, tx, { action: 'pipeline.stop', event: 'pipeline.stopping', id, context, details: { mode } })
      })
      await deps.supervisor.stop(id, mode)
      return describePipeline(await find(id))
    },
    status: async (id) => describePipeline(await find(id)),
    history: async (id) => deps.history.of((await find(id)).id),
    async list({ state, ...page }) {
      const records = await deps.store.list()
      const shown = state === undefined ? records : records.filter((one) => one.state === state)
      const newest = records[0]?.id ?? ''
      return pageOfList(shown.map(describePipeline), page, `pipelines ${state ?? ''} ${newest}`)
    },
    async forget(id, context) {
      const pipeline = await find(id)
      await deps.inTransaction(async (tx) => {
        if (!(await createPipelineStore(tx).delete(id))) {
          throw new DomainError('CONFLICT', `pipeline ${id} is ${pipeline.state}: stop it first`)
        }
        await record(deps, tx, { action: 'pipeline.delete', event: 'pipeline.deleted', id, context })
      })
      deps.history.forget(id)
      await deps.unpin?.(pipeline)
    },
    describeAll: async (id) => (id === undefined ? await deps.store.list() : [await find(id)]).map(describePipeline),
    subscribe: (signal, pipelineId) => deps.hub.subscribe(signal, pipelineId),
  }
}

type Tx = Parameters<Parameters<InTransaction>[0]>[0]

interface Recorded {
  readonly action: `pipeline.${string}`
  readonly event: `pipeline.${string}`
  readonly id: string
  readonly context: RequestContext
  readonly details?: Readonly<Record<string, string>>
}

async function record(
  deps: PipelineServiceDeps,
  tx: Tx,
  { action, event, id, context, details }: Recorded,
): Promise<void> {
  await deps.audit.record(tx, {
    ...context,
    action,
    objectType: 'pipeline',
    objectId: id,
    ...(details ? { details } : {}),
  })
  await deps.events.append(tx, { type: event, objectType: 'pipeline', objectId: id, data: { id, ...details } })
}

async function start(
  deps: PipelineServiceDeps,
  asked: StartPipelineRequest,
  context: RequestContext,
): Promise<PipelineView> {
  const triggerMs = parseTriggerInterval(asked.trigger_interval)
  if (triggerMs === undefined) throw refuse('INVALID_REQUEST', 'trigger_interval', TRIGGER_RULE)
  const version = await compiled(deps, asked, context.caller.user)
  const request = { ...asked, sink_table: sinkOf(asked, version) }
  const sources = version?.sources ?? [request.source_table ?? '']
  const catalog = deps.catalog.current()
  const { engine, checkpointIo } = deps
  const checked = await checkStart(
    { catalog, engine, checkpointIo, roots: deps.roots() },
    {
      sources,
      sink: request.sink_table,
      checkpointLocation: request.checkpoint_location,
      createSinkTable: request.create_sink_table ?? false,
      query: version?.query ?? copyQuery,
    },
  )
  const known = await requireFree(deps.store, request, { sources, location: checked.checkpointLocation })
  const [source] = checked.sources
  if (checked.sink === undefined && source !== undefined) {
    await createSink(catalog, source, parseIdentifier(request.sink_table))
  }
  const pipeline = newRecord(deps, { request, triggerMs, sources, checked, version, known, user: context.caller.user })
  await insert(deps, { pipeline, isKnown: known !== undefined, context })
  await deps.supervisor.launch(pipeline.id)
  return describePipeline((await deps.store.find(pipeline.id)) ?? pipeline)
}

async function compiled(
  { compileVersion }: PipelineServiceDeps,
  { version_id: id, source_table: source }: StartPipelineRequest,
  user: string,
): Promise<CompiledVersion | undefined> {
  if (id === undefined) {
    if (source === undefined) throw refuse('INVALID_REQUEST', 'source_table', 'is required')
    return undefined
  }
  if (source !== undefined) throw refuse('INVALID_REQUEST', 'version_id', 'cannot be given together with source_table')
  if (compileVersion === undefined)
    throw refuse('UNPROCESSABLE', 'version_id', 'versions cannot be run by this service')
  return compileVersion(id, user)
}

/** The table to write: a version names its own. */
function sinkOf(request: StartPipelineRequest, version: CompiledVersion | undefined): string {
  if (version === undefined) {
    if (request.sink_table === undefined) throw refuse('INVALID_REQUEST', 'sink_table', 'is required')
    return request.sink_table
  }
  if (request.create_sink_table === true) {
    throw refuse(
      'INVALID_REQUEST',
      'create_sink_table',
      'cannot be given together with version_id: create the table first',
    )
  }
  if (request.sink_table === undefined || request.sink_table === version.sink) return version.sink
  throw refuse('INVALID_REQUEST', 'sink_table', `is not the sink of the version, ${version.sink}: leave it out`)
}

interface Place {
  readonly sources: readonly string[]
  readonly location: string
}

/** The pipeline that had the checkpoint before, if there is one; throws when checkpoint or sink are taken. */
async function requireFree(
  store: PipelineStore,
  { sink_table: sink }: { readonly sink_table: string },
  { sources, location }: Place,
): Promise<PipelineRecord | undefined> {
  const known = await store.findByCheckpoint(location)
  if (known && isLive(known)) throw refuse('CONFLICT', 'checkpoint_location', `pipeline ${known.id} is live on it`)
  if (known && (known.sinkTable !== sink || known.sources.join() !== sources.join())) {
    const tables = `from ${known.sources.join(', ')} into ${known.sinkTable}`
    throw refuse('CONFLICT', 'checkpoint_location', `is that of another pipeline, ${known.id}, ${tables}`)
  }
  const live = await store.findLiveOn(sink)
  if (live) throw refuse('CONFLICT', 'sink_table', `pipeline ${live.id} is live on it`)
  const circle = circleThrough(await store.listLive(), { sources, sinkTable: sink })
  if (circle)
    throw refuse('CONFLICT', 'sink_table', `its rows would come back to the source through ${circle.join(', ')}`)
  return known
}

function isLive({ state }: PipelineRecord): boolean {
  return state !== 'stopped' && state !== 'failed'
}

interface NewPipeline {
  readonly request: StartPipelineRequest & { readonly sink_table: string }
  readonly triggerMs: number
  readonly sources: readonly string[]
  readonly checked: CheckedStart
  readonly version: CompiledVersion | undefined
  readonly known: PipelineRecord | undefined
  readonly user: string
}

function newRecord(deps: PipelineServiceDeps, input: NewPipeline): PipelineRecord {
  const { request, checked, version, known } = input
  const now = deps.now().toISOString()
  return {
    id: known?.id ?? deps.newId('pipe'),
    runId: deps.newId('run'),
    queryId: checked.queryId ?? known?.queryId ?? crypto.randomUUID(),
    sources: input.sources,
    sinkTable: request.sink_table,
    checkpointLocation: checked.checkpointLocation,
    triggerInterval: request.trigger_interval,
    triggerMs: input.triggerMs,
    options: {
      onDelete: request.on_delete ?? 'fail',
      createSinkTable: request.create_sink_table ?? false,
      maxFilesPerBatch: request.max_files_per_batch ?? DEFAULT_MAX_FILES,
      maxBytesPerBatch: request.max_bytes_per_batch ?? DEFAULT_MAX_BYTES,
    },
    desiredState: 'running',
    state: 'starting',
    warnings: checked.warnings,
    positions: known?.positions ?? toStoredPositions(input.sources, checked.positions),
    ...(known?.progress === undefined ? {} : { progress: known.progress }),
    ...(version ? { definitionId: version.definitionId, versionId: version.versionId } : {}),
    createdBy: known?.createdBy ?? input.user,
    createdAt: known?.createdAt ?? now,
    startedAt: now,
  }
}

interface Insertion {
  readonly pipeline: PipelineRecord
  readonly isKnown: boolean
  readonly context: RequestContext
}

/** Of two starts at the same moment one gets sink and checkpoint: the database holds both unique. */
async function insert(deps: PipelineServiceDeps, { pipeline, isKnown, context }: Insertion): Promise<void> {
  const { id, runId, sources, sinkTable } = pipeline
  const taken = 'another pipeline has just been started on it'
  try {
    await deps.inTransaction(async (tx) => {
      const store = createPipelineStore(tx)
      if (!isKnown) await store.insert(pipeline)
      else if (!(await store.revive(pipeline))) throw refuse('CONFLICT', 'checkpoint_location', taken)
      const details = { run_id: runId, source_table: sources.join(', '), sink_table: sinkTable }
      await record(deps, tx, { action: 'pipeline.start', event: 'pipeline.started', id, context, details })
    })
  } catch (error) {
    if (isUniqueViolation(error)) throw refuse('CONFLICT', 'sink_table', `${taken}, or on the checkpoint`, error)
    throw error
  }
}
