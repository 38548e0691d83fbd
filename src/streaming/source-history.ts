import { formatIdentifier } from '../catalog/table-identifier.ts'
import { IcebergError } from '../iceberg/errors.ts'
import { snapshotById } from '../iceberg/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import { ancestorsOf } from '../iceberg/snapshot-ancestry.ts'
import type { Snapshot } from '../iceberg/snapshots.ts'
import type { Table } from '../iceberg/table.ts'
import { PipelineStopped } from './pipeline-errors.ts'
import { isStart } from './streaming-offset.ts'
import type { StreamingOffset } from './streaming-offset.ts'

/** What a source does with snapshots that take rows away or replace them. */
export type OnDelete = 'fail' | 'skip'

/** What a snapshot held, as far as it is needed to recognise it in a later one. */
export interface Footprint {
  readonly sequenceNumber: number
  readonly dataFiles: number
  readonly deleteFiles: number
}

/** An offset, and whether nothing of its snapshot is left to read. */
export interface ReadPosition {
  readonly offset: StreamingOffset
  readonly isComplete: boolean
  /** What the snapshot held, to go on from it when it has expired; undefined when that is not known. */
  readonly footprint?: Footprint | undefined
}

/** The snapshots of `main` that are not read yet. */
export interface UnreadHistory {
  /** The snapshot of the offset itself; undefined when it is read to its end and gone. */
  readonly current: Snapshot | undefined
  /** Those after it, oldest first. */
  readonly after: readonly Snapshot[]
  /** Whether snapshots between the offset and the first after it are gone; their rows may still be told by the files. */
  readonly hasGap: boolean
}

/**
 * The history between an offset and the head of a table. Throws {@link PipelineStopped} when rows in between cannot be
 * read any more: their snapshots expired, or the table was rolled back behind the offset.
 */
export function unreadHistory(table: Table, { offset, isComplete, footprint }: ReadPosition): UnreadHistory {
  const { metadata } = table
  const head = metadata.currentSnapshotId
  if (head === undefined) {
    if (isStart(offset)) return { current: undefined, after: [], hasGap: false }
    throw lost(table, offset, 'the table has no current snapshot any more')
  }
  const after: Snapshot[] = []
  for (const snapshot of ancestorsOf(metadata, head)) {
    if (snapshot.snapshotId === offset.snapshotId) return { current: snapshot, after: after.reverse(), hasGap: false }
    after.push(snapshot)
  }
  if (isStart(offset)) return { current: undefined, after: after.reverse(), hasGap: false }
  if (isComplete && after.at(-1)?.parentSnapshotId === offset.snapshotId) {
    return { current: undefined, after: after.reverse(), hasGap: false }
  }
  const current = snapshotById(metadata, offset.snapshotId)
  const readTo = current?.sequenceNumber ?? (isComplete ? footprint?.sequenceNumber : undefined)
  if (readTo === undefined) throw lost(table, offset, 'it has expired, and rows after it may be gone with it')
  const isLater = (after.at(-1)?.sequenceNumber ?? 0) > readTo
  if (!isLater) throw lost(table, offset, 'the table was rolled back behind it')
  return { current, after: after.reverse(), hasGap: true }
}

/** Says that the unread rows after a snapshot cannot be had any more. */
export function lost(
  { identifier }: Table,
  { snapshotId }: Pick<StreamingOffset, 'snapshotId'>,
  why: string,
): PipelineStopped {
  return new PipelineStopped(
    'HISTORY_LOST',
    `snapshot ${snapshotId} of ${formatIdentifier(identifier)}, up to which the source is read, cannot be gone on from: ` +
      `${why}; what is in the sink stays, and a pipeline with a new sink and checkpoint begins with all that the source holds`,
  )
}

/** The snapshot's `operation`; snapshots without one (format version 1) only ever appended. */
export function operationOf({ summary }: Snapshot): string {
  return summary['operation'] ?? 'append'
}

/**
 * Whether the rows that a snapshot added are to be read. `replace` adds none. Throws {@link PipelineStopped} for
 * `overwrite` and `delete`, whose effect an append-only sink cannot follow, unless they are to be skipped.
 */
export function isRead(snapshot: Snapshot, onDelete: OnDelete): boolean {
  const operation = operationOf(snapshot)
  switch (operation) {
    case 'append':
      return true
    case 'replace':
      return false
    case 'overwrite':
    case 'delete':
      if (onDelete === 'skip') return false
      throw new PipelineStopped(
        'SOURCE_NOT_APPENDED',
        `snapshot ${snapshot.snapshotId} of the source is "${operation}": it changes or deletes rows that the sink may ` +
          'have, which appending cannot follow; start again with on_delete "skip" to leave such snapshots out',
      )
    default:
      throw new IcebergError('UNSUPPORTED', `snapshot ${snapshot.snapshotId} has the unknown operation "${operation}"`)
  }
}

/**
 * Whether the beginning of the history of `main` is in the table; false when snapshots have expired. (PyIceberg takes away
 * the parent of one whose parent it expires: then the totals of its summary tell that it was not the first.)
 */
export function hasWholeHistory(metadata: TableMetadata): boolean {
  if (metadata.currentSnapshotId === undefined) return true
  let oldest: Snapshot | undefined
  for (const snapshot of ancestorsOf(metadata, metadata.currentSnapshotId)) oldest = snapshot
  const { 'total-data-files': total, 'added-data-files': added } = oldest?.summary ?? {}
  return oldest?.parentSnapshotId === undefined && (total === undefined || total === (added ?? '0'))
}

/** A count of a snapshot's summary; 0 for what is none. */
export function toCount(text: string | undefined): number {
  const value = Number(text ?? 0)
  return Number.isSafeInteger(value) && value > 0 ? value : 0
}
