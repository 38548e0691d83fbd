import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf, isFirstSnapshot } from '../../iceberg/metadata/snapshot-ancestry.ts'
import { keepsRows, type Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { PipelineStopped } from '../pipeline-errors.ts'
import { isStart } from './offset.ts'
import type { StreamingOffset } from './offset.ts'

/** What a source does with snapshots that delete or replace rows; `follow` reads how they change rows. */
export type OnDelete = 'fail' | 'skip' | 'follow'

/** Counts of a snapshot that are needed to recognise its content in a later one. */
export interface Footprint {
  readonly sequenceNumber: number
  readonly dataFiles: number
  readonly deleteFiles: number
}

/** An offset, and whether its snapshot is completely read. */
export interface ReadPosition {
  readonly offset: StreamingOffset
  readonly isComplete: boolean
  /** The content of the snapshot, to resume after it when it has expired; undefined when unknown. */
  readonly footprint?: Footprint | undefined
}

/** The snapshots of `main` that are not read yet. */
export interface UnreadHistory {
  /** The snapshot of the offset itself; undefined when it is completely read and has expired. */
  readonly current: Snapshot | undefined
  /** Those after it, oldest first. */
  readonly after: readonly Snapshot[]
  /** Whether snapshots between the offset and the first after it have expired; the live files may still show their rows. */
  readonly hasGap: boolean
}

/**
 * The history between an offset and the head of a table. Throws {@link PipelineStopped} when rows in between can no
 * longer be read: their snapshots expired, or the table was rolled back to before the offset.
 */
export function unreadHistory(table: Table, position: ReadPosition): UnreadHistory {
  const { metadata } = table
  const { offset, isComplete } = position
  const head = metadata.currentSnapshotId
  if (head === undefined) {
    if (isStart(offset)) return { current: undefined, after: [], hasGap: false }
    throw lost(table, offset, 'the table no longer has a current snapshot')
  }
  const after: Snapshot[] = []
  for (const snapshot of ancestorsOf(metadata, head)) {
    if (snapshot.snapshotId === offset.snapshotId) return { current: snapshot, after: after.reverse(), hasGap: false }
    after.push(snapshot)
  }
  after.reverse()
  const hasReadParent = isComplete && after[0]?.parentSnapshotId === offset.snapshotId
  if (isStart(offset) || hasReadParent) return { current: undefined, after, hasGap: false }
  return historyAfterGap(table, position, after)
}

/** The history behind snapshots that expired. Throws when rows of them may be lost. */
function historyAfterGap(
  table: Table,
  { offset, isComplete, footprint }: ReadPosition,
  after: readonly Snapshot[],
): UnreadHistory {
  const current = snapshotById(table.metadata, offset.snapshotId)
  const readTo = current?.sequenceNumber ?? (isComplete ? footprint?.sequenceNumber : undefined)
  if (readTo === undefined) throw lost(table, offset, 'it has expired, and rows after it may be gone with it')
  const isLater = (after[0]?.sequenceNumber ?? 0) > readTo
  if (!isLater) throw lost(table, offset, 'the table was rolled back to before it')
  return { current, after, hasGap: true }
}

/** The error that the unread rows after a snapshot can no longer be read. */
export function lost(
  { identifier }: Table,
  { snapshotId }: Pick<StreamingOffset, 'snapshotId'>,
  why: string,
): PipelineStopped {
  return new PipelineStopped(
    'HISTORY_LOST',
    `cannot resume after snapshot ${snapshotId} of ${formatIdentifier(identifier)}, the last one that was read: ` +
      `${why}; the sink keeps its rows; to read all current rows of the source, start a pipeline with a new sink and checkpoint`,
  )
}

/** The snapshot's `operation`; snapshots without one (format version 1) only ever appended. */
export function operationOf({ summary }: Snapshot): string {
  return summary['operation'] ?? 'append'
}

/** What is read of a snapshot: the files that it added, every row that it changed, or nothing. */
export type SnapshotReading = 'added' | 'changed' | 'nothing'

/**
 * What to read of a snapshot; one that keeps the rows has nothing to read. Throws {@link PipelineStopped} for `overwrite` and
 * `delete`, which an append-only sink cannot reproduce, unless they are skipped or followed.
 */
export function readingOf(snapshot: Snapshot, onDelete: OnDelete): SnapshotReading {
  if (keepsRows(snapshot)) return 'nothing'
  const operation = operationOf(snapshot)
  switch (operation) {
    case 'append':
      return 'added'
    case 'overwrite':
    case 'delete':
      if (onDelete === 'follow') return 'changed'
      if (onDelete === 'skip') return 'nothing'
      throw new PipelineStopped(
        'SOURCE_NOT_APPENDED',
        `snapshot ${snapshot.snapshotId} of the source is "${operation}": it changes or deletes rows that may be in the ` +
          'sink, and the pipeline only appends; let it read changes into a sink with a key, or start again with on_delete ' +
          '"skip" to skip such snapshots',
      )
    default:
      throw new IcebergError('UNSUPPORTED', `snapshot ${snapshot.snapshotId} has the unknown operation "${operation}"`)
  }
}

/** Whether the table has the whole history of `main`; false when snapshots have expired. */
export function hasWholeHistory(metadata: TableMetadata): boolean {
  if (metadata.currentSnapshotId === undefined) return true
  let oldest: Snapshot | undefined
  for (const snapshot of ancestorsOf(metadata, metadata.currentSnapshotId)) oldest = snapshot
  return oldest === undefined || isFirstSnapshot(oldest)
}

/** A count of a snapshot's summary; 0 for an invalid or missing count. */
export function toCount(text: string | undefined): number {
  const value = Number(text ?? 0)
  return Number.isSafeInteger(value) && value > 0 ? value : 0
}
