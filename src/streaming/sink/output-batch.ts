import { deleteQuietly } from '../../catalog/metadata-file.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import { type BatchProgress, NO_CHECKS, type Stopwatch } from './batch-progress.ts'
import type { CompiledMerge } from './batch-query.ts'
import { type BatchWrite, divertedRows, writeBatch, type WrittenRows } from './batch-writer.ts'
import { checkCounts, type CheckCounts } from './check-results.ts'
import { commitBatch, type SinkCommit } from './commit.ts'
import { commitDiverted } from './commit-diverted.ts'
import { discardMerge, isUnchanged, mergeInto, openMerge, stageMerge } from './merge-rows.ts'

/** A batch to be written and committed. */
export interface OutputBatch {
  readonly write: BatchWrite
  readonly commit: Omit<SinkCommit, 'sink' | 'stage'>
  /** The sink as it is now. */
  readonly loadSink: () => Promise<Table>
  /** Called with each table of diverted rows after its commit. */
  readonly onDiverted: (table: Table) => void
  readonly watch: Stopwatch
}

/** The rows of a batch in the sink. */
export interface CommittedBatch extends Pick<BatchProgress, 'rows_diverted' | 'rows_dropped' | 'checks'> {
  readonly rowsRead: number
  readonly rowsInserted: number
  readonly rowsUpdated: number
  readonly rowsDeleted: number
  /** Undefined when nothing was committed, because the sink does not change. */
  readonly committed: { readonly table: Table; readonly snapshotId: bigint } | undefined
}

/** A batch without files. */
export const NO_OUTPUT: CommittedBatch = {
  rowsRead: 0,
  rowsInserted: 0,
  rowsUpdated: 0,
  rowsDeleted: 0,
  ...NO_CHECKS,
  committed: undefined,
}

/** How often a merge searches again, because others write to the sink. */
const MAX_SEARCHES = 10

/**
 * Writes a batch and commits its diverted rows, then the batch with its progress; what was written is deleted unless it is, or may be,
 * committed. If the process ends between two commits, the batch runs again over the same files.
 */
export async function outputBatch(batch: OutputBatch): Promise<CommittedBatch> {
  const { merge } = batch.write.compiled
  return merge === undefined ? appendBatch(batch) : mergeBatch(batch, merge)
}

async function appendBatch(batch: OutputBatch): Promise<CommittedBatch> {
  const { write, commit, watch } = batch
  const { sink } = write
  const { files, rowsRead, rowsWritten, diverted, ...counts } = await watch.time('add_batch', () => writeBatch(write))
  try {
    await divertRows(batch, diverted)
  } catch (error) {
    const paths = files.map(({ filePath }) => filePath)
    await deleteQuietly(sink.io, paths)
    throw error
  }
  const rows = { ...NO_OUTPUT, ...countsOf(counts, diverted), rowsRead, rowsInserted: rowsWritten }
  if (files.length === 0) return rows
  const outcome = await watch.time('commit_batch', () =>
    commitBatch({ ...commit, sink, stage: (fresh, options) => stageAppend(fresh, { ...options, files }) }),
  )
  if (outcome.kind === 'refused') {
    const paths = files.map(({ filePath }) => filePath)
    await deleteQuietly(sink.io, paths)
  }
  if (outcome.kind !== 'committed') throw outcome.error
  return { ...rows, committed: { table: outcome.table, snapshotId: outcome.staged.snapshotId } }
}

async function mergeBatch(batch: OutputBatch, compiled: CompiledMerge): Promise<CommittedBatch> {
  const { write, watch } = batch
  const merge = await watch.time('add_batch', () => openMerge(write, compiled))
  try {
    const diverted = divertedRows(write, merge.rows.sides)
    await divertRows(batch, diverted)
    const counts = countsOf(checkCounts(write.compiled.checks ?? [], merge.rows.checks), diverted)
    let { sink } = write
    for (let search = 1; ; search += 1) {
      const filePrefix = `${write.filePrefix}-${search}`
      const merged = await watch.time('merge_batch', () => mergeInto(merge, sink, { ...write, filePrefix }))
      const { rowsRead, rowsDeleted: deletedInSource } = merge.rows
      const { rowsInserted, rowsUpdated, rowsDeleted } = merged
      const rows = { ...counts, rowsRead: rowsRead - deletedInSource, rowsInserted, rowsUpdated, rowsDeleted }
      if (isUnchanged(merged)) return { ...rows, committed: undefined }
      const outcome = await watch.time('commit_batch', () =>
        commitBatch({
          ...batch.commit,
          sink,
          stage: (fresh, options) => stageMerge(sink, merged, { fresh, options }),
        }),
      )
      if (outcome.kind === 'committed') {
        return { ...rows, committed: { table: outcome.table, snapshotId: outcome.staged.snapshotId } }
      }
      if (outcome.kind === 'refused') await discardMerge(sink, merged)
      const mustSearch = outcome.kind === 'refused' && isIcebergError(outcome.error, 'COMMIT_CONFLICT')
      if (!mustSearch || search >= MAX_SEARCHES) throw outcome.error
      const fresh = await batch.loadSink()
      // the rows are held with the columns that the sink had
      if (fresh.metadata.currentSchemaId !== sink.metadata.currentSchemaId) throw outcome.error
      sink = fresh
    }
  } finally {
    await merge.close()
  }
}

/** Commits the diverted rows of each table; files of tables whose rows are not committed are deleted. */
async function divertRows(
  { write, commit, onDiverted, watch }: OutputBatch,
  all: readonly WrittenRows[],
): Promise<void> {
  const { catalog, queryId, progress, checkLease } = commit
  for (const [at, { table, files, rows, fingerprint }] of all.entries()) {
    try {
      const diverted = { ...progress, pairs: [], diverted: { rows, fingerprint } }
      const { signal } = write
      const committed = await watch.time('commit_diverted', () =>
        commitDiverted({ catalog, table, queryId, progress: diverted, files, checkLease, signal }),
      )
      if (committed !== undefined) onDiverted(committed)
    } catch (error) {
      for (const rest of all.slice(at + 1)) {
        const paths = rest.files.map(({ filePath }) => filePath)
        await deleteQuietly(rest.table.io, paths)
      }
      throw error
    }
  }
}

function countsOf(
  { rowsDropped: dropped, checks }: CheckCounts,
  diverted: readonly WrittenRows[],
): Pick<CommittedBatch, 'rows_diverted' | 'rows_dropped' | 'checks'> {
  return { rows_diverted: diverted.reduce((sum, { rows }) => sum + rows, 0), rows_dropped: dropped, checks }
}
