import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { batchSummary, type SinkProgress, type SinkState } from '../sink/progress.ts'
import { formatOffset, sameOffset } from '../source/offset.ts'
import { mismatch } from '../pipeline-errors.ts'
import type { LoggedBatch } from '../checkpoint/checkpoint.ts'

/**
 * Throws `CHECKPOINT_MISMATCH` when the progress in the sink is about the last batch of the checkpoint, but names other
 * offsets than the checkpoint has logged for it: then rows would be skipped or read twice.
 */
export function requireLoggedOffsets({ batchId, offsets }: LoggedBatch, { progress }: SinkState): void {
  if (progress === undefined || progress.batchId !== batchId) return
  const { positions } = progress
  const isSame =
    positions.length === offsets.length &&
    positions.every(({ offset }, at) => offsets[at] !== undefined && sameOffset(offset, offsets[at]))
  if (isSame) return
  const ends = positions.map(({ offset }) => formatOffset(offset)).join(', ')
  const logged = offsets.map(formatOffset).join(', ')
  throw mismatch(
    `the sink says that batch ${batchId} was read up to ${ends}, but the checkpoint has logged ${logged}: something else ` +
      `than this service has changed one of them. ${REMEDY}`,
  )
}

const REMEDY =
  'Find out what, and start the pipeline with a new checkpoint, or restore the table properties of the sink.'

/** A progress in a sink that is ahead of the checkpoint. */
export interface AheadOfCheckpoint {
  readonly queryId: string
  readonly progress: SinkProgress
  /** The last batch of the checkpoint; undefined when it has none, because it was lost. */
  readonly latest: LoggedBatch | undefined
}

/**
 * Throws `CHECKPOINT_MISMATCH` unless a snapshot of the sink shows that the batch was committed with these offsets. Only
 * for a checkpoint without batches, a snapshot that has expired may be missing: nothing contradicts the progress there.
 */
export function requireWritten(sink: Table, { queryId, progress, latest }: AheadOfCheckpoint): void {
  const { metadata } = sink
  const summary = Object.entries(batchSummary(queryId, progress))
  const isOfBatch = (snapshot: Snapshot): boolean => summary.every(([key, value]) => snapshot.summary[key] === value)
  if (metadata.snapshots.some(isOfBatch) || (latest === undefined && hasExpired(metadata))) return
  const checkpoint = latest === undefined ? 'has none' : `ends with batch ${latest.batchId}`
  throw mismatch(
    `${formatIdentifier(sink.identifier)} says that batch ${progress.batchId} is done, the checkpoint ${checkpoint}, and ` +
      'no snapshot of the table shows that this service wrote that batch. ' +
      (latest === undefined ? REMEDY : 'Restore the newest checkpoint, or delete the folder if the sink is right.'),
  )
}

/** Whether the beginning of the history is no longer in the metadata. */
function hasExpired(metadata: TableMetadata): boolean {
  const { currentSnapshotId } = metadata
  if (currentSnapshotId === undefined) return false
  return [...ancestorsOf(metadata, currentSnapshotId)].at(-1)?.parentSnapshotId !== undefined
}
