import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsIn, snapshotsById } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'

/** How a commit moves the branch `main` of a table. */
export interface MainMove {
  /** Snapshots of `main` that are no longer in its history, newest first; also those that the same commit removes. */
  readonly undone: readonly Snapshot[]
  /** Whether `main` goes back to rows of an earlier state. False where the rows are extended or replaced by new ones. */
  readonly isRollback: boolean
}

/** Compares `main` before and after a commit. Ancestors count even if the commit removes them from the table. */
export function mainMove(base: TableMetadata, next: TableMetadata): MainMove {
  const { currentSnapshotId: before } = base
  const { currentSnapshotId: after } = next
  if (before === after) return { undone: [], isRollback: false }
  const known = snapshotsById(base)
  if (before === undefined) return { undone: [], isRollback: wasMain(base) && after !== undefined && known.has(after) }
  const all = new Map([...known, ...snapshotsById(next)])
  const line = after === undefined ? [] : [...ancestorsIn(all, after)].map(({ snapshotId }) => snapshotId)
  const kept = new Set(line)
  const undone = [...ancestorsIn(known, before)].filter(({ snapshotId }) => !kept.has(snapshotId))
  return { undone, isRollback: undone.length > 0 && line.some((id) => known.has(id)) }
}

/** Whether the table had a current snapshot before `main` was removed. */
function wasMain({ snapshotLog }: TableMetadata): boolean {
  return snapshotLog.length > 0
}
