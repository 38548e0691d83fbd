import type { TableMetadata } from './metadata.ts'
import type { Snapshot } from './snapshots.ts'

/** A snapshot and its ancestors, newest first, as far as the table has them; stops when parents form a cycle. */
export function* ancestorsOf(metadata: TableMetadata, snapshotId: bigint): Iterable<Snapshot> {
  yield* ancestorsIn(snapshotsById(metadata), snapshotId)
}

/** The same with an index from the caller, for many walks over one table. */
export function* ancestorsIn(snapshots: ReadonlyMap<bigint, Snapshot>, snapshotId: bigint): Iterable<Snapshot> {
  const seen = new Set<bigint>()
  let next: bigint | undefined = snapshotId
  while (next !== undefined && !seen.has(next)) {
    seen.add(next)
    const snapshot: Snapshot | undefined = snapshots.get(next)
    if (snapshot === undefined) return
    yield snapshot
    next = snapshot.parentSnapshotId
  }
}

/** The indexes of documents that are in use. */
const indexes = new WeakMap<TableMetadata['snapshots'], ReadonlyMap<bigint, Snapshot>>()

/** The snapshots of a table by id; made once per document. */
export function snapshotsById({ snapshots }: TableMetadata): ReadonlyMap<bigint, Snapshot> {
  const known = indexes.get(snapshots)
  if (known !== undefined) return known
  const index = new Map<bigint, Snapshot>()
  for (const snapshot of snapshots) index.set(snapshot.snapshotId, snapshot)
  indexes.set(snapshots, index)
  return index
}

/**
 * Whether a table had no rows before this snapshot: it has no parent, and all of its files are new. (PyIceberg removes
 * the parent id of a snapshot whose parent it expires: then the totals of the summary show that it was not the first.)
 */
export function isFirstSnapshot({ parentSnapshotId, summary }: Snapshot): boolean {
  const { 'total-data-files': total, 'added-data-files': added } = summary
  return parentSnapshotId === undefined && (total === undefined || total === (added ?? '0'))
}
