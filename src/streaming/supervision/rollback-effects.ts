import type { Catalog } from '../../catalog/catalog.ts'
import { loadIfPresent } from '../../catalog/load-if-present.ts'
import { formatIdentifier, mayBeSameTable } from '../../catalog/table-identifier.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { AffectedPipeline, PlannedRollback } from '../../maintenance/table-guard.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import { Checkpoint } from '../checkpoint/checkpoint.ts'
import { withStart } from '../run/start-positions.ts'
import { resumeOffsets } from '../recovery/recover.ts'
import { fromStoredPosition } from '../checkpoint/stored-positions.ts'
import { pinnedPipelines } from '../pins/retention-pin.ts'
import { batchOf, readSinkState, type SinkState } from '../sink/progress.ts'
import { operationOf, toCount } from '../source/history.ts'

/**
 * The pipelines for which a rollback is not provably without consequence. A reader is affected when it has read an undone
 * snapshot; one that runs always is, because it may read them before the rollback is committed. A pipeline that writes
 * the table is affected when an undone snapshot has one of its batches: its checkpoint counts the batch as done.
 */
export async function rollbackEffects(
  io: FileIO,
  records: readonly PipelineRecord[],
  rollback: PlannedRollback,
): Promise<readonly AffectedPipeline[]> {
  const affected: AffectedPipeline[] = []
  for (const record of records) affected.push(...(await effectsOnReader(io, record, rollback)))
  return [...affected, ...effectsOnPinned(records, rollback), ...effectsOnWriters(records, rollback.undone)]
}

/** The last snapshots that a pipeline has read, of all its sources. */
type Reached = ReadonlySet<bigint> | 'unknown'

async function effectsOnReader(
  io: FileIO,
  record: PipelineRecord,
  { catalog, table, undone }: PlannedRollback,
): Promise<readonly AffectedPipeline[]> {
  const name = formatIdentifier(table.identifier)
  if (!record.sources.some((source) => mayBeSameTable(source, name))) return []
  const isLive = isLiveState(record)
  const reached = isLive ? lastReported(record) : await nextStart(io, catalog, record)
  const read = readSnapshots(undone, reached)
  if (!isLive && reached !== 'unknown' && read.length === 0) return []
  const consequence = onReader(record, { isLive, isUnknown: reached === 'unknown', read })
  return [{ id: record.id, role: 'reader', state: record.state, isLive, consequence, ...sizeOf(read), batchIds: [] }]
}

function lastReported({ positions = [] }: PipelineRecord): Reached {
  return new Set(positions.map((stored) => fromStoredPosition(stored).offset.snapshotId))
}

/** Where a pipeline that does not run would resume: the positions in the state database may be older. */
async function nextStart(io: FileIO, catalog: Catalog, record: PipelineRecord): Promise<Reached> {
  try {
    const found = await new Checkpoint(io, record.checkpointLocation).read(record.sources.length)
    const state = withStart(found, record.options.start?.map(fromStoredPosition))
    const offsets = resumeOffsets(state, await sinkStateOf(catalog, record))
    return offsets === undefined ? 'unknown' : new Set(offsets.flatMap((offset) => offset?.snapshotId ?? []))
  } catch (error) {
    if (isIcebergError(error)) return 'unknown'
    throw error
  }
}

async function sinkStateOf(catalog: Catalog, { sinkTable, queryId }: PipelineRecord): Promise<SinkState> {
  const sink = await loadIfPresent(catalog, sinkTable)
  if (sink === undefined) return { lastBatch: -1, runId: undefined, progress: undefined }
  return readSinkState(sink.metadata, queryId)
}

/** The undone snapshots up to the newest that was reached; none when it is not among them. */
function readSnapshots(undone: readonly Snapshot[], reached: Reached): readonly Snapshot[] {
  if (reached === 'unknown') return []
  const newest = undone.findIndex(({ snapshotId }) => reached.has(snapshotId))
  return newest < 0 ? [] : undone.slice(newest)
}

interface Reading {
  readonly isLive: boolean
  readonly isUnknown: boolean
  readonly read: readonly Snapshot[]
}

function onReader({ sinkTable }: PipelineRecord, { isLive, isUnknown, read }: Reading): string {
  if (isUnknown) {
    return (
      'Its checkpoint cannot be read, so it is unknown whether it has read snapshots that would be undone. If it has, it ' +
      'ends with HISTORY_LOST when it is started again.'
    )
  }
  if (read.length === 0) {
    return (
      'It runs and may read the snapshots that would be undone before the rollback is done. Then it would end with ' +
      'HISTORY_LOST. If it is stopped before it reads them, the rollback does not affect it.'
    )
  }
  return (
    `It has read ${sizeText(read)} that would be undone. It would end with ` +
    `HISTORY_LOST${isLive ? '' : ' when it is started again'} and could not resume; ${sinkTable} keeps the rows.`
  )
}

/** Readers of other services, which only their pins in the table show. */
function effectsOnPinned(
  records: readonly PipelineRecord[],
  { table, undone }: PlannedRollback,
): readonly AffectedPipeline[] {
  const others = pinnedPipelines(table.metadata).filter(({ pipelineId }) =>
    records.every(({ id }) => id !== pipelineId),
  )
  return others.flatMap(({ pipelineId: id, snapshotId }) => {
    const read = readSnapshots(undone, new Set([snapshotId]))
    if (read.length === 0) return []
    const consequence = `${NOT_KNOWN_HERE} It has read ${sizeText(read)} that would be undone, and could not resume after them.`
    return [{ id, role: 'reader', state: 'unknown', isLive: false, consequence, ...sizeOf(read), batchIds: [] }]
  })
}

const NOT_KNOWN_HERE = 'It is not known here: it was deleted, or another system runs it.'

/** The pipelines, also deleted ones and those of Spark, whose batches would be undone. */
function effectsOnWriters(records: readonly PipelineRecord[], undone: readonly Snapshot[]): AffectedPipeline[] {
  const written = new Map<string, { readonly pipelineId: string; readonly snapshots: Snapshot[] }>()
  for (const snapshot of undone) {
    const batch = batchOf(snapshot)
    if (batch === undefined) continue
    const entry = written.get(batch.queryId) ?? { pipelineId: batch.pipelineId ?? batch.queryId, snapshots: [] }
    entry.snapshots.push(snapshot)
    written.set(batch.queryId, entry)
  }
  return [...written].flatMap(([queryId, { pipelineId, snapshots }]) => {
    const known = records.filter((record) => record.queryId === queryId)
    const pipelines = known.map((record) => ({ id: record.id, state: record.state, isLive: isLiveState(record) }))
    const unknown = { id: pipelineId, state: 'unknown', isLive: false }
    return (pipelines.length === 0 ? [unknown] : pipelines).map((pipeline) => effectOnWriter(pipeline, snapshots))
  })
}

function effectOnWriter(
  pipeline: Pick<AffectedPipeline, 'id' | 'state' | 'isLive'>,
  snapshots: readonly Snapshot[],
): AffectedPipeline {
  const size = sizeOf(snapshots)
  const batchIds = snapshots.flatMap((snapshot) => batchOf(snapshot)?.batchId ?? []).sort((a, b) => a - b)
  const isKnown = pipeline.state !== 'unknown'
  const consequence =
    `${isKnown ? '' : `${NOT_KNOWN_HERE} `}Its ${listBatches(batchIds)} would be removed from the table, with ${plural(size.rows, 'row')}. Its ` +
    'checkpoint counts them as done, so it would not write them again.'
  return { ...pipeline, role: 'sink', consequence, ...size, batchIds }
}

function listBatches(ids: readonly number[]): string {
  const [first, last] = [ids[0], ids.at(-1)]
  if (ids.length === 1) return `batch ${first}`
  return ids.length === 2 ? `batches ${first} and ${last}` : `${ids.length} batches from ${first} to ${last}`
}

/** Snapshots, and the rows that they appended. */
function sizeOf(snapshots: readonly Snapshot[]): { readonly snapshots: number; readonly rows: number } {
  const appended = snapshots.filter((snapshot) => operationOf(snapshot) === 'append')
  const rows = appended.reduce((sum, { summary }) => sum + toCount(summary['added-records']), 0)
  return { snapshots: snapshots.length, rows }
}

function sizeText(read: readonly Snapshot[]): string {
  const { snapshots, rows } = sizeOf(read)
  return `${plural(snapshots, 'snapshot')} with ${plural(rows, 'row')}`
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** Whether a pipeline runs or should run. */
export function isLiveState({ state }: PipelineRecord): boolean {
  return state !== 'stopped' && state !== 'failed'
}
