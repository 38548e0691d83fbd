import { deleteQuietly } from '../../catalog/metadata-file.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import type { Stopwatch } from './batch-progress.ts'
import type { CompiledMerge } from './batch-query.ts'
import { type BatchWrite, writeBatch } from './batch-writer.ts'
import { commitBatch, type SinkCommit } from './commit.ts'
import { discardMerge, isUnchanged, mergeInto, openMerge, stageMerge } from './merge-rows.ts'

/** A batch to be written and committed. */
export interface OutputBatch {
  readonly write: BatchWrite
  readonly commit: Omit<SinkCommit, 'sink' | 'stage'>
  /** The sink as it is now. */
  readonly loadSink: () => Promise<Table>
  readonly watch: Stopwatch
}

/** The rows of a batch in the sink. */
export interface CommittedBatch {
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
  committed: undefined,
}

/** How often a merge searches again, because others write to the sink. */
const MAX_SEARCHES = 10

/** Writes a batch and commits it with its progress; what was written is deleted unless it is, or may be, committed. */
export async function outputBatch(batch: OutputBatch): Promise<CommittedBatch> {
  const { merge } = batch.write.compiled
  return merge === undefined ? appendBatch(batch) : mergeBatch(batch, merge)
}

async function appendBatch({ write, commit, watch }: OutputBatch): Promise<CommittedBatch> {
  const { sink } = write
  const { files, rowsRead, rowsWritten } = await watch.time('add_batch', () => writeBatch(write))
  const rows = { ...NO_OUTPUT, rowsRead, rowsInserted: rowsWritten }
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
    let { sink } = write
    for (let search = 1; ; search += 1) {
      const filePrefix = `${write.filePrefix}-${search}`
      const merged = await watch.time('merge_batch', () => mergeInto(merge, sink, { ...write, filePrefix }))
      const { rowsRead, rowsDeleted: deletedInSource } = merge.rows
      const { rowsInserted, rowsUpdated, rowsDeleted } = merged
      const rows = { rowsRead: rowsRead - deletedInSource, rowsInserted, rowsUpdated, rowsDeleted }
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
