import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Checkpoint, CheckpointState, LoggedBatch } from '../checkpoint/checkpoint.ts'
import { footprintOf } from '../source/expired-history.ts'
import { mismatch, PipelineStopped } from '../pipeline-errors.ts'
import type { PipelineSpec } from '../pipeline-spec.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { readSinkState } from '../sink/progress.ts'
import { requireLoggedOffsets, requireWritten } from './sink-evidence.ts'
import type { SinkState } from '../sink/progress.ts'
import type { ReadPosition } from '../source/history.ts'
import type { SourcePlanner } from '../source/plan.ts'
import { isStart, sameOffset, START_OFFSET } from '../source/offset.ts'
import type { StreamingOffset } from '../source/offset.ts'

/** Where a pipeline resumes. */
export interface Recovered {
  readonly positions: readonly ReadPosition[]
  readonly nextBatch: number
  /** The last batch in the sink; -1 for none. */
  readonly sinkBatch: number
  /** A planned batch that is not in the sink: it runs again, over the same files. */
  readonly pending: LoggedBatch | undefined
  /** Sources without a snapshot: when they get their first one, all its rows are read. */
  readonly awaiting: readonly boolean[]
  readonly sink: SinkState
}

export interface RecoverRequest {
  readonly spec: PipelineSpec
  readonly checkpoint: Checkpoint
  readonly planners: readonly SourcePlanner[]
  readonly sources: readonly Table[]
  readonly sink: Table
  readonly nowMs: number
}

/**
 * Determines the progress of a pipeline from its checkpoint and its sink. The sink decides: a batch is done when the
 * sink has it, with the offsets that were logged for it. Entries that are missing in the checkpoint are written again, so
 * that Spark can resume from it, too.
 *
 * Throws `PipelineStopped` when checkpoint and sink do not belong together, or one of the tables was replaced.
 */
export async function recover(request: RecoverRequest): Promise<Recovered> {
  const { spec, checkpoint, sink: sinkTable } = request
  const state = await checkpoint.read(spec.sources.length)
  requireOwnCheckpoint(request, state)
  const sink = readSinkState(sinkTable.metadata, spec.queryId)
  await checkpoint.begin(spec.queryId)
  if (state.owner === undefined) await writeOwner(request)
  const { latest } = state
  if (latest === undefined && sink.lastBatch < 0) return fromBeginning(request, state, sink)
  const recovered =
    latest !== undefined && latest.batchId >= sink.lastBatch
      ? await fromCheckpoint(request, state, latest)
      : await fromSink(request, state, sink)
  requireSameOrder(spec, recovered, sink.progress?.countsByAge ?? state.owner?.countsByAge ?? false)
  return recovered
}

/**
 * Per source, the offset of the last batch that {@link recover} would resume after, or run again; undefined where
 * reading would start with the current rows. Undefined as a whole when only Spark's checkpoint could tell.
 */
export function resumeOffsets(
  { latest, initial }: CheckpointState,
  { lastBatch, progress }: SinkState,
): readonly (StreamingOffset | undefined)[] | undefined {
  if (latest !== undefined && latest.batchId >= lastBatch) return latest.offsets
  if (lastBatch < 0) return initial
  return progress?.batchId === lastBatch ? progress.positions.map(({ offset }) => offset) : undefined
}

async function fromCheckpoint(
  request: RecoverRequest,
  state: CheckpointState,
  latest: LoggedBatch,
): Promise<Recovered> {
  const { spec, checkpoint, sink: sinkTable } = request
  const sink = readSinkState(sinkTable.metadata, spec.queryId)
  const common = { sinkBatch: sink.lastBatch, sink, awaiting: latest.offsets.map(() => false) }
  requireLoggedOffsets(latest, sink)
  if (isBatchDone(latest, state, sink)) {
    const isRecorded = (state.lastCommit ?? -1) >= latest.batchId
    if (!isRecorded && !isDiverting(sink, latest.batchId)) await checkpoint.commitBatch(latest.batchId)
    const positions = await complete(request, latest.offsets, sink)
    return { ...common, positions, nextBatch: latest.batchId + 1, pending: undefined }
  }
  const start = startOf(latest, state, sink)
  if (start === undefined) {
    throw mismatch(`batch ${latest.batchId} of the checkpoint is not done, and its start offsets are no longer known`)
  }
  const positions = await complete(request, start, sink)
  return { ...common, positions, nextBatch: latest.batchId, pending: latest }
}

/** Whether the last batch of a checkpoint was committed: the sink has it, or it had no rows. */
export function isBatchDone(latest: LoggedBatch, { lastCommit }: CheckpointState, { lastBatch }: SinkState): boolean {
  return lastBatch === latest.batchId || (lastCommit ?? -1) >= latest.batchId
}

/** Where the last batch of a checkpoint starts to read; undefined when that is no longer known. */
export function startOf(
  latest: LoggedBatch,
  state: CheckpointState,
  sink: SinkState,
): readonly StreamingOffset[] | undefined {
  if (state.previous !== undefined) return state.previous.offsets
  if (latest.batchId === 0) return latest.offsets.map((_, source) => state.initial[source] ?? START_OFFSET)
  const { progress } = sink
  return progress?.batchId === latest.batchId - 1 ? progress.positions.map(({ offset }) => offset) : undefined
}

/** The checkpoint is missing, or older than the sink: it is recreated from the progress stored in the sink. */
async function fromSink(request: RecoverRequest, state: CheckpointState, sink: SinkState): Promise<Recovered> {
  const { checkpoint, nowMs } = request
  const { progress } = sink
  if (progress === undefined || progress.batchId !== sink.lastBatch) {
    throw mismatch(
      `the sink has batch ${sink.lastBatch} of this query, written by Spark, which is missing in the checkpoint: ` +
        'restore the checkpoint that Spark used',
    )
  }
  requireWritten(request.sink, { queryId: request.spec.queryId, progress, latest: state.latest })
  const { positions, batchId } = progress
  for (const [source, { offset }] of positions.entries()) await checkpoint.writeInitial(source, offset)
  const offsets = positions.map(({ offset }) => offset)
  // Spark also needs the batch before the last one, although it reads nothing from it once the last one is done
  if (batchId > 0 && state.latest?.batchId !== batchId - 1) {
    await checkpoint.logBatch({ batchId: batchId - 1, offsets }, nowMs)
    await checkpoint.commitBatch(batchId - 1)
  }
  await checkpoint.logBatch({ batchId, offsets }, nowMs)
  if (!isDiverting(sink, batchId)) await checkpoint.commitBatch(batchId)
  const awaiting = positions.map(() => false)
  return { positions, nextBatch: batchId + 1, sinkBatch: batchId, pending: undefined, awaiting, sink }
}

/** Whether a batch has diverted rows: `commitDiverted` records that it is done, after these are committed. */
function isDiverting({ progress }: SinkState, batchId: number): boolean {
  return progress?.batchId === batchId && progress.diverting !== undefined
}

/** Starts where the pipeline was asked to, else with all rows of the sources. The checkpoint has it before anything is read. */
async function fromBeginning(request: RecoverRequest, state: CheckpointState, sink: SinkState): Promise<Recovered> {
  const { checkpoint, spec } = request
  const positions: ReadPosition[] = []
  for (const [source, table] of request.sources.entries()) {
    const start = spec.start?.[source]
    const wanted = state.initial[source] ?? start?.offset ?? backfillOffset(table)
    const offset = isStart(wanted) ? wanted : await checkpoint.writeInitial(source, wanted)
    const isComplete = start !== undefined && sameOffset(start.offset, offset) && start.isComplete
    positions.push({ offset, isComplete, footprint: footprintOf(table.metadata, offset.snapshotId) })
  }
  requireFirst(request.spec, positions)
  const awaiting = positions.map(({ offset }, source) => isStart(offset) && state.initial[source] === undefined)
  return { positions, nextBatch: 0, sinkBatch: -1, pending: undefined, awaiting, sink }
}

/** Where reading of a table starts: with all live files of its current snapshot. */
export function backfillOffset({ metadata }: Table): StreamingOffset {
  const { currentSnapshotId } = metadata
  if (currentSnapshotId === undefined) return START_OFFSET
  return { snapshotId: currentSnapshotId, position: 0, scanAllFiles: true }
}

async function complete(
  { spec, planners, sources }: RecoverRequest,
  offsets: readonly StreamingOffset[],
  { progress }: SinkState,
): Promise<ReadPosition[]> {
  const positions: ReadPosition[] = []
  for (const [source, offset] of offsets.entries()) {
    const table = sources[source]
    const planner = planners[source]
    if (table === undefined || planner === undefined)
      throw mismatch('the checkpoint has more sources than the pipeline')
    const stored = [progress?.positions[source], spec.start?.[source]]
    const known = stored.find((one) => one !== undefined && sameOffset(one.offset, offset))
    const wasComplete = known?.isComplete ?? false
    const isComplete = wasComplete || (await planner.isComplete({ table, start: { offset, isComplete: wasComplete } }))
    const footprint = known?.footprint ?? footprintOf(table.metadata, offset.snapshotId)
    positions.push({ offset, isComplete, footprint })
  }
  return positions
}

async function writeOwner({ spec, checkpoint, sources, sink }: RecoverRequest): Promise<void> {
  await checkpoint.writeOwner({
    pipelineId: spec.pipelineId,
    sources: sources.map(stampOf),
    sink: stampOf(sink),
    countsByAge: countsByAge(spec.query),
  })
}

/** Whether the files of the first snapshot are read by age: the last row of a key counts. */
export function countsByAge({ write }: BatchQuery): boolean {
  return write !== undefined && write.mode !== 'append'
}

/** Another pipeline that handed its position over may count the files of the first snapshot in another order. */
function requireFirst({ query }: PipelineSpec, positions: readonly ReadPosition[]): void {
  const isWithin = positions.some(({ offset }) => offset.scanAllFiles && offset.position > 0)
  if (isWithin && countsByAge(query)) throw mismatch(OTHER_ORDER)
}

const OTHER_ORDER =
  'reading of a source began with another way of writing (append, or by key) and has not reached everything that the source had ' +
  'then: start it as before until it has, or with a new checkpoint'

/** A position among the files of the first snapshot means other files when they are counted in another order. */
function requireSameOrder({ query }: PipelineSpec, { positions }: Recovered, isByAge: boolean): void {
  const isWithin = positions.some(({ offset, isComplete }) => offset.scanAllFiles && offset.position > 0 && !isComplete)
  if (!isWithin || isByAge === countsByAge(query)) return
  throw mismatch(OTHER_ORDER)
}

/** A table's name and identity. */
export function stampOf({ identifier, metadata }: Table): { readonly table: string; readonly uuid: string } {
  return { table: formatIdentifier(identifier), uuid: metadata.tableUuid }
}

/** Throws `PipelineStopped` when the checkpoint belongs to another query or to other tables; ask before it is changed. */
export function requireOwnCheckpoint(
  { spec, sources, sink }: Pick<RecoverRequest, 'spec' | 'sources' | 'sink'>,
  { queryId, owner }: CheckpointState,
): void {
  if (queryId !== undefined && queryId !== spec.queryId) {
    throw mismatch('the checkpoint at the location of this pipeline now belongs to another query')
  }
  if (owner === undefined) return
  const now = [...sources, sink].map(stampOf)
  for (const [at, { table, uuid }] of [...owner.sources, owner.sink].entries()) {
    if (now[at]?.uuid === uuid) continue
    throw new PipelineStopped(
      'TABLE_REPLACED',
      `the checkpoint belongs to a different table than the one now named ${now[at]?.table ?? table}: ` +
        'start a pipeline with a new checkpoint for it',
    )
  }
}
