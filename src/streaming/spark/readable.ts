import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { IntoBranch } from '../../schemas/pipelines.ts'
import type { SinkState } from '../sink/progress.ts'
import { hasWholeHistory, type OnDelete, operationOf, type ReadPosition } from '../source/history.ts'
import { isStart, START_OFFSET, type StreamingOffset } from '../source/offset.ts'

/** What Spark's source needs to know of a source and how far it was read. */
export interface SparkStart {
  readonly table: Table
  readonly position: ReadPosition
  readonly onDelete: OnDelete
}

/**
 * Where Spark begins to read all rows of a table: with the files of its first snapshot. Undefined when that would not give
 * the rows that the table has now: its first snapshots have expired, or rows were changed or deleted.
 */
export function firstSparkOffset({ metadata }: Table): StreamingOffset | undefined {
  const { currentSnapshotId } = metadata
  if (currentSnapshotId === undefined) return START_OFFSET
  if (!hasWholeHistory(metadata)) return undefined
  let oldest: Snapshot | undefined
  for (const snapshot of ancestorsOf(metadata, currentSnapshotId)) {
    const onlyAdds = ['append', 'replace'].includes(operationOf(snapshot)) && !hasDeletes(snapshot)
    if (!onlyAdds) return undefined
    oldest = snapshot
  }
  return oldest && { snapshotId: oldest.snapshotId, position: 0, scanAllFiles: false }
}

/**
 * Why Spark's source cannot read on from a position with the same rows as the embedded engine; undefined when it can.
 * Spark's source reads the files that snapshots added, by snapshot: it needs the snapshot that was read last, and does
 * not apply deletes when it reads all files of one.
 */
export function sparkProblem({ table, position, onDelete }: SparkStart): string | undefined {
  const { metadata } = table
  const { offset, isComplete } = position
  const name = formatIdentifier(table.identifier)
  if (isStart(offset)) {
    return firstSparkOffset(table) === undefined
      ? `the first snapshots of ${name} have expired or changed rows`
      : undefined
  }
  const snapshot = snapshotById(metadata, offset.snapshotId)
  if (snapshot === undefined) return `snapshot ${offset.snapshotId} of ${name}, the last one read, has expired`
  if (offset.scanAllFiles && !isComplete) {
    return `not all rows that ${name} had when the pipeline began are read, and Spark cannot read them by their snapshots`
  }
  if (isPassed(snapshot, onDelete)) return undefined
  return `snapshot ${offset.snapshotId} of ${name}, the last one read, changed or deleted rows, and Spark stops at it`
}

/** Whether the next batch of a pipeline goes to a branch; `branch` is what was requested. */
export function writesToBranch(state: SinkState | undefined, branch: IntoBranch | undefined): boolean {
  return state === undefined || state.lastBatch < 0 ? branch !== undefined : state.progress?.branch !== undefined
}

/** Why Spark cannot run a pipeline that writes to a branch. */
export const BRANCH_PROBLEM =
  'its rows go to a branch first, which only the embedded engine can publish: use the engine "embedded" until then'

/** What to do about a {@link sparkProblem}. */
export const SPARK_REMEDY = 'start the pipeline with engine "embedded", and change to "spark" when it has read further'

/** A problem of a query in Spark, and what to do about it. */
export function withRemedy(problem: string): string {
  return `${problem}; use the embedded engine`
}

function hasDeletes({ summary }: Snapshot): boolean {
  return (summary['total-delete-files'] ?? '0') !== '0'
}

/** Spark knows only the operation of a snapshot. */
function isPassed(snapshot: Snapshot, onDelete: OnDelete): boolean {
  const skipped = onDelete === 'skip' ? ['overwrite', 'delete'] : []
  return ['append', 'replace', ...skipped].includes(operationOf(snapshot))
}
