import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { ReadMode } from '../../domain/pipelines/modes.ts'
import type { DomainError } from '../../domain/errors.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { snapshotById, type TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import type { StartFrom } from '../../schemas/pipelines.ts'
import type { CheckpointState } from '../checkpoint/checkpoint.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { backfillOffset } from '../recovery/recover.ts'
import {
  hasWholeHistory,
  type OnDelete,
  operationOf,
  readingOf,
  type ReadPosition,
  toCount,
  unreadHistory,
} from '../source/history.ts'
import { isStart, sameOffset, START_OFFSET } from '../source/offset.ts'
import { addedFiles } from '../source/plan.ts'

/** A requested start, and the sources that it is for. */
export interface StartQuestion {
  readonly from: StartFrom
  readonly sources: readonly Table[]
  readonly onDelete: OnDelete
  /** What is read of each source; undefined: what is appended. */
  readonly reads?: readonly ReadMode[] | undefined
  readonly now: Date
}

/** A requested start of a checkpoint. */
export type RequestedBegin = Omit<StartQuestion, 'sources' | 'reads'>

/** What is known of a checkpoint that is to begin. */
interface Beginning extends Pick<StartQuestion, 'sources' | 'reads'> {
  readonly state: CheckpointState
  /** Whether the sink has batches of it although its folder was deleted. */
  readonly isLost: boolean
}

/**
 * The positions at which a checkpoint begins that has not begun, one per source; undefined: with the current rows. Throws
 * `CONFLICT` for a checkpoint that has begun elsewhere, and errors of {@link startPositions}.
 */
export async function requestedStart(
  begin: RequestedBegin | undefined,
  { sources, reads, state, isLost }: Beginning,
): Promise<readonly ReadPosition[] | undefined> {
  if (begin === undefined) return undefined
  if (state.latest !== undefined || isLost) throw begun()
  const start = await startPositions({ ...begin, sources, reads })
  const isElsewhere = sources.some((table, at) => {
    const recorded = state.initial[at]
    return recorded !== undefined && !sameOffset(recorded, start?.[at]?.offset ?? backfillOffset(table))
  })
  if (isElsewhere) throw begun()
  return start
}

function begun(): DomainError {
  const message = 'cannot be given for a checkpoint that has begun: leave it out to read on, or use a new checkpoint'
  return fieldRefusal('CONFLICT', [{ path: 'from', message }])
}

/** The state of a checkpoint once it has begun at these positions; where it has begun already, it stays as it is. */
export function withStart(state: CheckpointState, start: readonly ReadPosition[] | undefined): CheckpointState {
  const initial = state.initial.map((recorded, at) => {
    const offset = start?.[at]?.offset
    return recorded ?? (offset === undefined || isStart(offset) ? undefined : offset)
  })
  return { ...state, initial }
}

const NOTHING_READ: ReadPosition = { offset: START_OFFSET, isComplete: false }

/**
 * The positions from which only rows are read that were appended after `from`, one per source; undefined for `beginning`.
 * An empty source is read from its first snapshot on. Throws `UNPROCESSABLE` with the field when the history since then is not known, or has a
 * snapshot that would stop the pipeline.
 */
export async function startPositions(question: StartQuestion): Promise<readonly ReadPosition[] | undefined> {
  const { from, sources } = question
  if (from === 'beginning') return undefined
  if (typeof from === 'object' && 'snapshot_id' in from && sources.length !== 1) {
    throw refused('from.snapshot_id', `needs exactly one source, and there are ${sources.length}: use a timestamp`)
  }
  const positions: ReadPosition[] = []
  for (const [at, table] of sources.entries()) {
    const position = await startPosition(table, { from, now: question.now })
    const onDelete = question.reads?.[at] === 'changes' ? 'follow' : question.onDelete
    requireReadable(table, position, { from, onDelete })
    positions.push(position)
  }
  return positions
}

type LaterStart = Exclude<StartFrom, 'beginning'>

interface Moment {
  readonly from: LaterStart
  readonly now: Date
}

async function startPosition(table: Table, { from, now }: Moment): Promise<ReadPosition> {
  const { metadata } = table
  if (from === 'now') {
    const head = metadata.currentSnapshotId
    return head === undefined ? NOTHING_READ : after(table, snapshotById(metadata, head))
  }
  if ('snapshot_id' in from) return after(table, requireAncestor(table, BigInt(from.snapshot_id)))
  const timestampMs = Date.parse(from.timestamp)
  if (timestampMs > now.getTime()) throw refused('from.timestamp', `must not be in the future: ${from.timestamp}`)
  const found = snapshotAt(metadata, timestampMs)
  if (found !== undefined) return after(table, found)
  const first = lineOf(metadata).at(-1)
  if (first === undefined) return NOTHING_READ
  if (hasWholeHistory(metadata) && first.timestampMs > timestampMs) return before(first)
  const name = formatIdentifier(table.identifier)
  const message = `is a time of which ${name} no longer tells its snapshot: send a later time, or a snapshot_id`
  throw refused('from.timestamp', message)
}

/** The end of a snapshot, as Iceberg's source for Spark counts it. */
async function after(table: Table, snapshot: Snapshot | undefined): Promise<ReadPosition> {
  if (snapshot === undefined) return NOTHING_READ
  const { snapshotId, summary } = snapshot
  const isAppend = operationOf(snapshot) === 'append'
  const position = isAppend ? (await addedFiles(table, snapshot)).end : toCount(summary['added-data-files'])
  return { offset: { snapshotId, position, scanAllFiles: false }, isComplete: true }
}

/** The beginning of the first snapshot, which is read as a whole unless it only appended. */
function before(first: Snapshot): ReadPosition {
  const scanAllFiles = operationOf(first) !== 'append'
  return { offset: { snapshotId: first.snapshotId, position: 0, scanAllFiles }, isComplete: false }
}

function requireAncestor({ identifier, metadata }: Table, snapshotId: bigint): Snapshot {
  const found = lineOf(metadata).find((one) => one.snapshotId === snapshotId)
  if (found !== undefined) return found
  const name = formatIdentifier(identifier)
  const why =
    snapshotById(metadata, snapshotId) === undefined
      ? `${name} has no snapshot ${snapshotId}: it has expired, or never was in this table`
      : `snapshot ${snapshotId} is not in the history of main of ${name}: it was rolled back, or is on another branch`
  throw refused('from.snapshot_id', why)
}

/**
 * The snapshot of the current history that `main` had at a time, as the table's log tells it: a snapshot that was published
 * later than it was written counts from its publication. Without a log, the snapshots' own times decide.
 */
function snapshotAt(metadata: TableMetadata, timestampMs: number): Snapshot | undefined {
  const { snapshotLog } = metadata
  const line = lineOf(metadata)
  if (snapshotLog.length === 0) return line.find((snapshot) => snapshot.timestampMs <= timestampMs)
  const byId = new Map(line.map((snapshot) => [snapshot.snapshotId, snapshot]))
  const entry = snapshotLog.findLast((one) => one.timestampMs <= timestampMs && byId.has(one.snapshotId))
  return entry && byId.get(entry.snapshotId)
}

/** The snapshots of `main`, newest first. */
function lineOf(metadata: TableMetadata): readonly Snapshot[] {
  const { currentSnapshotId } = metadata
  return currentSnapshotId === undefined ? [] : [...ancestorsOf(metadata, currentSnapshotId)]
}

interface Reading {
  readonly from: LaterStart
  readonly onDelete: OnDelete
}

function requireReadable(table: Table, position: ReadPosition, { from, onDelete }: Reading): void {
  const field = from === 'now' ? 'from' : 'snapshot_id' in from ? 'from.snapshot_id' : 'from.timestamp'
  try {
    const { current, after: later } = unreadHistory(table, position)
    if (current !== undefined && !position.isComplete) readingOf(current, onDelete)
    for (const snapshot of later) readingOf(snapshot, onDelete)
  } catch (error) {
    if (!(error instanceof PipelineStopped) && !isIcebergError(error, 'UNSUPPORTED')) throw error
    throw refused(field, error.message, error)
  }
}

function refused(path: string, message: string, cause?: unknown): DomainError {
  return fieldRefusal('UNPROCESSABLE', [{ path, message }], cause)
}
