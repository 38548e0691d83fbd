import { IcebergError } from '../errors.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { ancestorsIn, snapshotsById } from '../metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../metadata/snapshots.ts'

/** Which changes are wanted. */
export interface ChangeRangeRequest {
  /** The state before the changes; undefined: that of the parent of `to`. */
  readonly from?: bigint | undefined
  /** The state after the changes; undefined: the current snapshot. */
  readonly to?: bigint | undefined
}

/** A part of a table's history. */
export interface ChangeRange {
  /** The snapshot before the first one; undefined: the table was empty. */
  readonly before: Snapshot | undefined
  /** All snapshots of the range, `replace` included, oldest first. */
  readonly snapshots: readonly Snapshot[]
  /** The last snapshot; undefined for a table without snapshots. */
  readonly to: Snapshot | undefined
}

/**
 * The snapshots after `from` up to `to`, along the ancestry of `to`. Errors: `NO_SUCH_SNAPSHOT` for an id that the table does not
 * have; `NOT_AN_ANCESTOR` when `from` is not an ancestor of `to` or when snapshots between them have expired.
 */
export function changeRange(metadata: TableMetadata, request: ChangeRangeRequest): ChangeRange {
  const known = snapshotsById(metadata)
  const toId = request.to ?? metadata.currentSnapshotId
  if (toId === undefined) {
    if (request.from !== undefined) throw noSuch(request.from)
    return { before: undefined, snapshots: [], to: undefined }
  }
  const to = known.get(toId)
  if (to === undefined) throw noSuch(toId)
  return request.from === undefined ? afterParent(known, to) : afterSnapshot(known, { from: request.from, to })
}

type Snapshots = ReadonlyMap<bigint, Snapshot>

function afterParent(known: Snapshots, to: Snapshot): ChangeRange {
  const { parentSnapshotId } = to
  if (parentSnapshotId === undefined) {
    if (isFirst(to)) return { before: undefined, snapshots: [to], to }
    throw notAncestor(`the snapshot before snapshot ${to.snapshotId} has expired, so its changes are not known`)
  }
  const before = known.get(parentSnapshotId)
  if (before !== undefined && before !== to) return { before, snapshots: [to], to }
  throw notAncestor(
    `snapshot ${parentSnapshotId}, the parent of snapshot ${to.snapshotId}, has expired, so its changes are not known`,
  )
}

/** PyIceberg removes the parent id of a snapshot whose parent it expires; the totals then show that it was not the first. */
function isFirst({ summary }: Snapshot): boolean {
  const { 'total-data-files': total, 'added-data-files': added } = summary
  return total === undefined || total === (added ?? '0')
}

function afterSnapshot(known: Snapshots, { from, to }: { readonly from: bigint; readonly to: Snapshot }): ChangeRange {
  const snapshots: Snapshot[] = []
  let oldest = to
  for (const snapshot of ancestorsIn(known, to.snapshotId)) {
    if (snapshot.snapshotId === from) return { before: snapshot, snapshots: snapshots.reverse(), to }
    snapshots.push(snapshot)
    oldest = snapshot
  }
  throw whyNotAncestor(known, { from, to, oldest })
}

interface Break {
  readonly from: bigint
  readonly to: Snapshot
  /** The oldest ancestor of `to` that the table has. */
  readonly oldest: Snapshot
}

function whyNotAncestor(known: Snapshots, { from, to, oldest }: Break): IcebergError {
  const [start, end] = [`snapshot ${from}`, `snapshot ${to.snapshotId}`]
  if (oldest.parentSnapshotId === from && !known.has(from)) {
    return notAncestor(`${start} has expired: changes can start at snapshot ${oldest.snapshotId} or a later one`)
  }
  if (!known.has(from)) return noSuch(from)
  for (const { snapshotId } of ancestorsIn(known, from)) {
    if (snapshotId === to.snapshotId) return notAncestor(`${start} is newer than ${end}: exchange the two`)
  }
  const lost = oldest.parentSnapshotId
  if (lost !== undefined && !known.has(lost)) {
    return notAncestor(
      `${start} is not a known ancestor of ${end}, because snapshot ${lost} before snapshot ${oldest.snapshotId} has expired`,
    )
  }
  return notAncestor(
    `${start} is not an ancestor of ${end}: the table was rolled back, or they are on different branches`,
  )
}

function notAncestor(message: string): IcebergError {
  return new IcebergError('NOT_AN_ANCESTOR', message)
}

function noSuch(snapshotId: bigint): IcebergError {
  return new IcebergError('NO_SUCH_SNAPSHOT', `The table has no snapshot ${snapshotId}: it may have expired`)
}
