import type { StartPipelineRequest } from '../../schemas/pipelines.ts'
import type { PipelineEngine, PipelineOptions, PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import { toStoredPositions } from '../../streaming/checkpoint/stored-positions.ts'
import type { CopyModes } from '../../streaming/query/copy-query.ts'
import type { OtherTables } from '../../streaming/sink/batch-query.ts'
import type { CheckedStart } from '../../streaming/run/start-checks.ts'
import type { CompiledVersion, PipelineServiceDeps } from './pipeline-deps.ts'

const DEFAULT_MAX_FILES = 1000
const DEFAULT_MAX_BYTES = 2 ** 30

/** A start that passed all checks. */
export interface NewPipeline {
  readonly request: StartPipelineRequest & { readonly sink_table: string }
  readonly triggerMs: number
  readonly sources: readonly string[]
  readonly checked: CheckedStart
  readonly version: CompiledVersion | undefined
  /** What it reads and how it writes; undefined: its version says so. */
  readonly modes: CopyModes | undefined
  readonly known: PipelineRecord | undefined
  readonly engine: PipelineEngine
  readonly user: string
}

/** The record of a pipeline that starts; one that is started again stays the same pipeline. */
export function newRecord(deps: Pick<PipelineServiceDeps, 'newId' | 'now'>, input: NewPipeline): PipelineRecord {
  const { request, checked, version, known } = input
  const now = deps.now().toISOString()
  return {
    ...identityOf(deps, known, { user: input.user, now }),
    runId: deps.newId('run'),
    queryId: checked.queryId ?? known?.queryId ?? crypto.randomUUID(),
    sources: input.sources,
    sinkTable: request.sink_table,
    checkpointLocation: checked.checkpointLocation,
    triggerInterval: request.trigger_interval,
    triggerMs: input.triggerMs,
    engine: input.engine,
    options: { ...optionsOf(request, input.modes), ...beginOf(input), ...otherTables(version?.query.others) },
    desiredState: 'running',
    state: 'starting',
    warnings: checked.warnings,
    positions:
      (request.from === undefined ? known?.positions : undefined) ??
      toStoredPositions(input.sources, checked.positions),
    ...(known?.progress === undefined ? {} : { progress: known.progress }),
    ...(version ? originOf(version) : {}),
    startedAt: now,
  }
}

/** The tables that a query uses besides its sources and its sink, as a record stores them. */
export function otherTables({ lookups, diverts }: OtherTables = { lookups: [], diverts: [] }) {
  return { ...(lookups.length === 0 ? {} : { lookups }), ...(diverts.length === 0 ? {} : { diverts }) }
}

function originOf({
  definitionId,
  versionId,
  environment,
  parameters,
}: CompiledVersion): Pick<PipelineRecord, 'definitionId' | 'versionId' | 'environment' | 'parameters'> {
  return { definitionId, versionId, environment, parameters }
}

/** A pipeline that is started again stays the same one. */
function identityOf(
  deps: Pick<PipelineServiceDeps, 'newId'>,
  known: PipelineRecord | undefined,
  { user, now }: { readonly user: string; readonly now: string },
): Pick<PipelineRecord, 'id' | 'createdBy' | 'createdAt'> {
  if (known) return { id: known.id, createdBy: known.createdBy, createdAt: known.createdAt }
  return { id: deps.newId('pipe'), createdBy: user, createdAt: now }
}

/** Where the pipeline begins to read and to write: as requested, else as before. */
function beginOf({
  request,
  checked,
  sources,
  known,
}: NewPipeline): Pick<PipelineOptions, 'from' | 'start' | 'branch'> {
  const from = request.from ?? known?.options.from
  const { start } = checked
  const branch = request.into_branch ?? known?.options.branch
  return {
    ...(from ? { from } : {}),
    ...(start ? { start: toStoredPositions(sources, start) } : {}),
    ...(branch ? { branch } : {}),
  }
}

function optionsOf(request: StartPipelineRequest, modes: CopyModes | undefined): PipelineOptions {
  return {
    onDelete: request.on_delete ?? 'fail',
    ...(modes === undefined ? {} : { read: modes.read, write: modes.write }),
    ...(modes?.updateKey === undefined ? {} : { updateKey: modes.updateKey }),
    ...(modes?.onSchemaChange === undefined ? {} : { onSchemaChange: modes.onSchemaChange }),
    createSinkTable: request.create_sink_table ?? false,
    maxFilesPerBatch: request.max_files_per_batch ?? DEFAULT_MAX_FILES,
    maxBytesPerBatch: request.max_bytes_per_batch ?? DEFAULT_MAX_BYTES,
  }
}
