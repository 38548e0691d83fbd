import { DomainError } from '../../domain/errors.ts'
import { type BranchState, branchStates, findStateAt } from '../../iceberg/metadata/branch-states.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsIn, isFirstSnapshot, snapshotsById } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { mainBranch, type Snapshot } from '../../iceberg/metadata/snapshots.ts'

/**
 * Why a rollback cannot return to a state: the snapshot has expired, is no ancestor of the current one, or belongs to
 * another branch than `main`.
 */
export type PointObstacle = 'expired' | 'not_in_history' | 'not_main'

/** A state that a branch had, and whether it can be had again. */
export interface RecoveryPoint extends BranchState {
  /** Undefined: the snapshot has expired. */
  readonly snapshot: Snapshot | undefined
  readonly isCurrent: boolean
  /** Undefined: a rollback can return to this state. */
  readonly obstacle: PointObstacle | undefined
}

/** Why no state before the earliest one can be restored; `no_snapshot`: the branch had no rows before. */
export type EarlierReason = 'no_snapshot' | 'expired' | 'not_in_history'

/** The states of a branch. */
export interface RecoveryPoints {
  /** Newest first. */
  readonly points: readonly RecoveryPoint[]
  /** The oldest state whose snapshot is kept and belongs to the history of the branch; undefined: none. */
  readonly earliest: RecoveryPoint | undefined
  readonly earlier: EarlierReason
}

/** Explains {@link EarlierReason} to people, as a clause. */
export const EARLIER_REASONS: Readonly<Record<EarlierReason, string>> = {
  no_snapshot: 'the table had no snapshot before that time',
  expired: 'older snapshots have expired',
  not_in_history: 'older snapshots are no ancestors of the current one, because the table was rolled back or replaced',
}

/** The states of a branch, from the metadata alone: files are not read. An unknown branch has none. */
export function listRecoveryPoints(metadata: TableMetadata, branch: string = mainBranch): RecoveryPoints {
  const snapshots = snapshotsById(metadata)
  const { refs } = metadata
  const head = Object.hasOwn(refs, branch) ? refs[branch]?.snapshotId : undefined
  const line = head === undefined ? [] : [...ancestorsIn(snapshots, head)]
  const history = new Set(line.map(({ snapshotId }) => snapshotId))
  const points = branchStates(metadata, branch).map((state): RecoveryPoint => {
    const { snapshotId, untilMs } = state
    const snapshot = snapshots.get(snapshotId)
    const isCurrent = untilMs === undefined && snapshotId === head
    return { ...state, snapshot, isCurrent, obstacle: obstacleTo(snapshot, branch, history) }
  })
  const first = points.findIndex(({ snapshot, obstacle }) => snapshot !== undefined && obstacle !== 'not_in_history')
  return { points: points.toReversed(), earliest: points[first], earlier: reasonBefore(points, first, metadata) }
}

function obstacleTo(
  snapshot: Snapshot | undefined,
  branch: string,
  history: ReadonlySet<bigint>,
): PointObstacle | undefined {
  if (snapshot === undefined) return 'expired'
  if (branch !== mainBranch) return 'not_main'
  return history.has(snapshot.snapshotId) ? undefined : 'not_in_history'
}

/** `points` are oldest first, and `first` is the place of the earliest one that is kept; -1: none is. */
function reasonBefore(points: readonly RecoveryPoint[], first: number, metadata: TableMetadata): EarlierReason {
  const before = first === -1 ? points.at(-1) : points[first - 1]
  if (before !== undefined) return before.snapshot === undefined ? 'expired' : 'not_in_history'
  const snapshot = points[0]?.snapshot
  return snapshot === undefined || isFirstOf(metadata, snapshot) ? 'no_snapshot' : 'expired'
}

/** A snapshot that replaced a table has no parent either: then older snapshots are kept, or their numbers are missing. */
function isFirstOf({ snapshots }: TableMetadata, first: Snapshot): boolean {
  if (!isFirstSnapshot(first)) return false
  const older = snapshots.filter(({ sequenceNumber }) => sequenceNumber < first.sequenceNumber)
  return older.length >= first.sequenceNumber - 1
}

/** A time to which a table is rolled back, and the time of the request; ms since the epoch. */
export interface RecoveryTime {
  readonly timestampMs: number
  readonly nowMs: number
}

/**
 * The state that `main` had at a time, if a rollback can return to it. Throws `UNPROCESSABLE` for the field
 * `to_timestamp`: in the future, before the first state, or a state with an obstacle.
 */
export function requireRecoveryPoint(metadata: TableMetadata, { timestampMs, nowMs }: RecoveryTime): RecoveryPoint {
  const time = timeText(timestampMs)
  if (timestampMs > nowMs) throw refused(`must not be in the future: ${time}`)
  const { points, earliest, earlier } = listRecoveryPoints(metadata)
  const point = findStateAt(points.toReversed(), timestampMs)
  if (point !== undefined && point.obstacle === undefined) return point
  const from = earliest === undefined ? '' : `; the earliest time that can be restored is ${timeText(earliest.fromMs)}`
  if (point === undefined) {
    const why = points.length === 0 ? 'the table has no snapshots' : EARLIER_REASONS[earlier]
    throw refused(`is before all known states of the table: ${time}${from}, because ${why}`)
  }
  const state = `${time} names snapshot ${point.snapshotId}`
  if (point.obstacle === 'expired') {
    throw refused(
      `names an expired snapshot: ${state}${from}. If an entry of the quarantine has it, restore that first`,
    )
  }
  throw refused(
    `names a state outside of the current history: ${state}, which is no ancestor of the current snapshot, because the ` +
      `table was rolled back or replaced later. Send a time of another state (GET /api/recovery-points lists them), or ` +
      `read these rows with as_of or snapshot_id and write them again`,
  )
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

function refused(message: string): DomainError {
  return new DomainError('UNPROCESSABLE', `to_timestamp ${message}`, { fields: [{ path: 'to_timestamp', message }] })
}
