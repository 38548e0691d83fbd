import type { SnapshotLogEntry, TableMetadata } from './metadata.ts'
import { ancestorsOf } from './snapshot-ancestry.ts'
import { mainBranch } from './snapshots.ts'

/** A state of a branch, and when the branch had it. The table may no longer have the snapshot. */
export interface BranchState {
  readonly snapshotId: bigint
  /** Ms since the epoch. */
  readonly fromMs: number
  /** Ms since the epoch, exclusive; undefined: the branch still has this state. */
  readonly untilMs: number | undefined
}

/**
 * The states of a branch, oldest first; every time since the first state belongs to exactly one state. For `main`, the
 * snapshot log decides: the state at a time is the last entry at or before (Iceberg spec, "Table Metadata Fields"). Other
 * branches have no log, so their snapshots count from the time of their commit, as in a table without a log.
 */
export function branchStates(metadata: TableMetadata, branch: string): readonly BranchState[] {
  const states: BranchState[] = []
  let untilMs: number | undefined
  for (const { snapshotId, timestampMs: fromMs } of logOf(metadata, branch).toReversed()) {
    // Clocks of writers differ: an entry that is not older than a later one has no time of its own.
    if (untilMs !== undefined && fromMs >= untilMs) continue
    states.push({ snapshotId, fromMs, untilMs })
    untilMs = fromMs
  }
  return states.reverse()
}

/** The state of a branch at a time, ms since the epoch; undefined for a time before the first state. */
export function findStateAt<State extends Pick<BranchState, 'fromMs'>>(
  states: readonly State[],
  timestampMs: number,
): State | undefined {
  return states.findLast(({ fromMs }) => fromMs <= timestampMs)
}

/** Snapshots of a branch with the times at which they became its head, oldest first. */
function logOf(metadata: TableMetadata, branch: string): readonly SnapshotLogEntry[] {
  const { refs, snapshotLog } = metadata
  if (branch === mainBranch && snapshotLog.length > 0) return snapshotLog
  const head = Object.hasOwn(refs, branch) ? refs[branch]?.snapshotId : undefined
  return head === undefined ? [] : [...ancestorsOf(metadata, head)].reverse()
}
