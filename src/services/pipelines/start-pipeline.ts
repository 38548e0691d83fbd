import { parseIdentifier } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../../domain/pipelines/trigger-interval.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import type { StartFrom, StartPipelineRequest } from '../../schemas/pipelines.ts'
import { isUniqueViolation } from '../../storage/database-error.ts'
import { createOperationStore } from '../../storage/stores/operations/operation-store.ts'
import {
  createPipelineStore,
  type PipelineRecord,
  type PipelineStore,
} from '../../storage/stores/pipelines/pipeline-store.ts'
import { createVersionStore } from '../../storage/stores/version-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { RequestedEngine } from '../../maintenance/spark/choose-engine.ts'
import type { BatchQuery } from '../../streaming/sink/batch-query.ts'
import { copyQuery } from '../../streaming/query/copy-query.ts'
import { cycleThrough } from '../../streaming/supervision/cycle.ts'
import { describePipeline, type PipelineView } from '../../streaming/supervision/pipeline-view.ts'
import { beginAt, type CheckedStart, checkStart, createSink, refuse } from '../../streaming/run/start-checks.ts'
import { fromStoredPosition } from '../../streaming/checkpoint/stored-positions.ts'
import { requireRoleIn, requireRoleOn, requireUnlisted } from '../environments/write-rules.ts'
import { newRecord } from './new-record.ts'
import { engineOf, type PipelineEngineChoice } from './pipeline-engine.ts'
import { type CompiledVersion, type PipelineServiceDeps, recordPipelineChange } from './pipeline-deps.ts'
import { requestedModes } from './requested-modes.ts'
import { requireNoRollback, runningRollbacks } from './running-rollbacks.ts'
import { tableConflict, type WrittenTables } from './table-conflicts.ts'

/**
 * Validates a request, records the pipeline and starts it. A version runs in its environment; without one, tables that
 * uat or production lists cannot be written. Throws `DomainError` that names the field.
 */
export async function startPipeline(
  deps: PipelineServiceDeps,
  asked: StartPipelineRequest,
  context: RequestContext,
): Promise<PipelineView> {
  const triggerMs = parseTriggerInterval(asked.trigger_interval)
  if (triggerMs === undefined) throw refuse('INVALID_REQUEST', 'trigger_interval', TRIGGER_RULE)
  const version = await compiled(deps, asked, context)
  const request = { ...asked, sink_table: sinkOf(asked, version) }
  await requirePolicyPossible(deps, request, context.caller)
  const sources = version?.sources ?? [request.source_table ?? '']
  const catalog = deps.catalog.current()
  const modes = await requestedModes(deps, asked, version)
  const query = version?.query ?? copyQuery(modes)
  const found = await checkRequested(deps, { request, sources, query })
  if (version === undefined) {
    await requireUnlisted(await deps.environments.list(), { catalog, table: request.sink_table })
  }
  const place = { sources, query, location: found.checkpointLocation }
  const known = await requireFree(deps.store, request, place)
  const checked = request.from === undefined ? beginAsBefore(found, known) : found
  const { engine: chosen, warnings } = await chooseFor(deps, { request, checked, query, version, known })
  const [source] = checked.sources
  if (checked.sink === undefined && source !== undefined) {
    await createSink(catalog, source, { sink: parseIdentifier(request.sink_table), query })
  }
  const { user } = context.caller
  const warned = { ...checked, warnings: [...checked.warnings, ...warnings] }
  const record = { request, triggerMs, sources, checked: warned, version, modes, known, engine: chosen, user }
  const pipeline = newRecord(deps, record)
  await insert(deps, { pipeline, isKnown: known !== undefined, isMaintained: asked.maintain_sink, context })
  await deps.supervisor.runNow(pipeline.id)
  return describePipeline((await deps.store.find(pipeline.id)) ?? pipeline)
}

interface RequestedStart {
  readonly request: StartPipelineRequest & { readonly sink_table: string }
  readonly sources: readonly string[]
  readonly query: BatchQuery
}

function checkRequested(deps: PipelineServiceDeps, { request, sources, query }: RequestedStart): Promise<CheckedStart> {
  const { engine, checkpointIo } = deps
  const { from, on_delete: onDelete = 'fail' } = request
  return checkStart(
    { catalog: deps.catalog.current(), engine, checkpointIo, roots: deps.roots() },
    {
      sources,
      sink: request.sink_table,
      checkpointLocation: request.checkpoint_location,
      createSinkTable: request.create_sink_table ?? false,
      query,
      branch: request.into_branch,
      begin: from && { from, onDelete, now: deps.now() },
    },
  )
}

/** A pipeline that was stopped before it began still begins where it was to begin. */
function beginAsBefore(checked: CheckedStart, known: PipelineRecord | undefined): CheckedStart {
  return beginAt(checked, known?.options.start?.map(fromStoredPosition))
}

interface EngineInput {
  readonly request: StartPipelineRequest
  readonly checked: CheckedStart
  readonly query: BatchQuery
  readonly version: CompiledVersion | undefined
  readonly known: PipelineRecord | undefined
}

/** The engine that the request names, else the one that the pipeline had, else the default. */
async function chooseFor(deps: PipelineServiceDeps, input: EngineInput): Promise<PipelineEngineChoice> {
  const { request, checked, query, version, known } = input
  return engineOf(deps.spark, {
    requested: request.engine ?? known?.engine ?? (await defaultEngine(deps, version)),
    catalogName: deps.catalog.current().name,
    now: deps.now(),
    checked,
    query,
    branch: request.into_branch ?? known?.options.branch,
    onDelete: request.on_delete ?? 'fail',
  })
}

/** The engine of a version when the request names none: the default of its environment. */
async function defaultEngine(
  { environments }: PipelineServiceDeps,
  version: CompiledVersion | undefined,
): Promise<RequestedEngine> {
  if (version === undefined) return 'embedded'
  const settings = (await environments.list()).find(({ environment }) => environment === version.environment)
  return settings?.defaults.engine ?? 'embedded'
}

/** The version of a request, compiled with the parameters of its environment; the caller's role is checked first. */
async function compiled(
  { versions }: PipelineServiceDeps,
  { version_id: id, source_table: source }: StartPipelineRequest,
  { caller }: RequestContext,
): Promise<CompiledVersion | undefined> {
  if (id === undefined) {
    if (source === undefined) throw refuse('INVALID_REQUEST', 'source_table', 'is required')
    return undefined
  }
  if (source !== undefined) throw refuse('INVALID_REQUEST', 'version_id', 'cannot be given together with source_table')
  const environment = await versions.environmentOf(id)
  requireRoleIn(environment, caller)
  return versions.compileVersion(id, caller.user, environment)
}

/** Refuses a start that cannot create the policy that it asks for, before a sink table is created. Throws `FORBIDDEN` for the role. */
async function requirePolicyPossible(
  { inTransaction, sinkPolicies }: PipelineServiceDeps,
  { maintain_sink: isMaintained, sink_table: sink }: StartPipelineRequest & { readonly sink_table: string },
  { user, role }: Caller,
): Promise<void> {
  if (isMaintained !== true) return
  if (!hasRole(role, 'LeadDataEngineer')) {
    const message = `maintain_sink creates a policy, which needs the role LeadDataEngineer; ${user} is ${role}`
    throw new DomainError('FORBIDDEN', message)
  }
  await inTransaction(async (tx) => sinkPolicies?.requirePossible(tx, sink))
}

/** The sink table; a version defines its own. */
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
  readonly query: BatchQuery
  readonly location: string
}

/** The pipeline that used the checkpoint before, if any; throws when the checkpoint or the sink is in use. */
async function requireFree(
  store: PipelineStore,
  { sink_table: sink }: { readonly sink_table: string },
  { sources, query, location }: Place,
): Promise<PipelineRecord | undefined> {
  const known = await store.findByCheckpoint(location)
  if (known && isLive(known)) throw refuse('CONFLICT', 'checkpoint_location', `is used by pipeline ${known.id}`)
  if (known && (known.sinkTable !== sink || known.sources.join() !== sources.join())) {
    const tables = `from ${known.sources.join(', ')} into ${known.sinkTable}`
    throw refuse('CONFLICT', 'checkpoint_location', `is that of another pipeline, ${known.id}, ${tables}`)
  }
  const live = await store.findLiveOn(sink)
  if (live) throw refuse('CONFLICT', 'sink_table', `is used by pipeline ${live.id}`)
  const { diverts } = query.others ?? { diverts: [] }
  const others = await store.listLive()
  requireApart(others, { sinkTable: sink, diverts })
  const cycle = cycleThrough(others, { sources, sinkTable: sink, options: { diverts } })
  if (cycle) throw refuse('CONFLICT', 'sink_table', `would return its rows to the source through ${cycle.join(', ')}`)
  return known
}

/** No pipeline may divert rows into the sink of another one. */
function requireApart(live: readonly PipelineRecord[], written: WrittenTables): void {
  const conflict = tableConflict(live, written)
  if (conflict !== undefined) throw refuse('CONFLICT', 'version_id', conflict.what)
}

function isLive({ state }: PipelineRecord): boolean {
  return state !== 'stopped' && state !== 'failed'
}

interface Insertion {
  readonly pipeline: PipelineRecord
  readonly isKnown: boolean
  readonly isMaintained: boolean | undefined
  readonly context: RequestContext
}

/** Of two concurrent starts only one gets the sink and the checkpoint: the database enforces uniqueness of both. */
async function insert(
  deps: PipelineServiceDeps,
  { pipeline, isKnown, isMaintained, context }: Insertion,
): Promise<void> {
  const { id, runId, sources, sinkTable } = pipeline
  const taken = 'another pipeline has just been started on it'
  try {
    await deps.inTransaction(async (tx) => {
      await deps.owners?.requireStartable(tx, pipeline)
      const store = createPipelineStore(tx)
      requireNoRollback(await runningRollbacks(createOperationStore(tx)), pipeline)
      requireApart(await store.listLive(), { sinkTable, diverts: pipeline.options.diverts ?? [] })
      await requireUnmoved(tx, pipeline)
      if (isKnown) requireRoleOn((await store.find(id)) ?? {}, context.caller)
      if (!isKnown) await store.insert(pipeline)
      else if (!(await store.revive(pipeline))) throw refuse('CONFLICT', 'checkpoint_location', taken)
      if (isMaintained === true) await deps.sinkPolicies?.create(tx, { table: sinkTable, context })
      const details = {
        run_id: runId,
        source_table: sources.join(', '),
        sink_table: sinkTable,
        ...writeDetails(pipeline.options),
        ...(pipeline.options.from === undefined ? {} : { from: fromText(pipeline.options.from) }),
        ...(pipeline.versionId === undefined ? {} : { version_id: pipeline.versionId }),
        ...(pipeline.environment === undefined ? {} : { environment: pipeline.environment }),
      }
      await recordPipelineChange(deps, tx, {
        action: 'pipeline.start',
        event: 'pipeline.started',
        pipeline,
        context,
        details,
      })
    })
  } catch (error) {
    if (isUniqueViolation(error))
      throw refuse('CONFLICT', 'sink_table', { what: `${taken}, or on the checkpoint`, cause: error })
    throw error
  }
}

/** How rows get into the sink, where they are not only added. */
function writeDetails({ read, write }: PipelineRecord['options']): Readonly<Record<string, string>> {
  if (write === undefined || write.mode === 'append') return read === 'changes' ? { read } : {}
  return { read: read ?? 'appends', write: write.mode, key: write.key.join(', ') }
}

function fromText(from: StartFrom): string {
  return typeof from === 'string' ? from : JSON.stringify(from)
}

/** Refuses a version that left its environment while the start was checked. */
async function requireUnmoved(tx: Tx, { versionId, environment }: PipelineRecord): Promise<void> {
  if (versionId === undefined) return
  const version = await createVersionStore(tx).findById(versionId)
  if (version?.environment === environment) return
  throw refuse('CONFLICT', 'version_id', `has just left ${environment ?? ''}: start it again`)
}
