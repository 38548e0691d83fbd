import { deleteQuietly } from '../../catalog/metadata-file.ts'
import type { RowMerge } from '../../engines/row-merge.ts'
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
import type { SinkProgress } from './progress.ts'
import { discardStaged, stageRows } from './staged-rows.ts'

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
 * Writes a batch and commits it with its progress. Rows that it diverts are written before, and committed after: the commit of the sink decides
 * which rows of which attempt count, and names the files. If the process ends in between, the next session commits them. What was written is
 * deleted unless it is, or may be, committed.
 */
export async function outputBatch(batch: OutputBatch): Promise<CommittedBatch> {
  const { merge } = batch.write.compiled
  return merge === undefined ? appendBatch(batch) : mergeBatch(batch, merge)
}

async function appendBatch(batch: OutputBatch): Promise<CommittedBatch> {
  const { write, commit, watch } = batch
  const { sink } = write
  const { files, rowsRead, rowsWritten, diverted, ...counts } = await watch.time('add_batch', () => writeBatch(write))
  const discard = async (): Promise<void> => {
    const paths = files.map(({ filePath }) => filePath)
    await deleteQuietly(sink.io, paths)
  }
  const rows = { ...NO_OUTPUT, ...countsOf(counts, diverted), rowsRead, rowsInserted: rowsWritten }
  return withDiverted(batch, { diverted, discard }, async (progress) => {
    if (files.length === 0 && progress.diverting === undefined) return rows
    const outcome = await watch.time('commit_batch', () =>
      commitBatch({ ...commit, sink, progress, stage: (fresh, options) => stageAppend(fresh, { ...options, files }) }),
    )
    if (outcome.kind === 'refused') await discard()
    if (outcome.kind !== 'committed') throw outcome.error
    return { ...rows, committed: { table: outcome.table, snapshotId: outcome.staged.snapshotId } }
  })
}

async function mergeBatch(batch: OutputBatch, compiled: CompiledMerge): Promise<CommittedBatch> {
  const { write, watch } = batch
  const merge = await watch.time('add_batch', () => openMerge(write, compiled))
  try {
    const diverted = divertedRows(write, merge.rows.sides)
    const counts = countsOf(checkCounts(write.compiled.checks ?? [], merge.rows.checks), diverted)
    return await withDiverted(batch, { diverted }, async (progress) => ({
      ...(await mergeUntilCommitted(batch, merge, progress)),
      ...counts,
    }))
  } finally {
    await merge.close()
  }
}

async function mergeUntilCommitted(
  { write, commit, loadSink, watch }: OutputBatch,
  merge: RowMerge,
  progress: SinkProgress,
): Promise<Omit<CommittedBatch, keyof typeof NO_CHECKS>> {
  let { sink } = write
  for (let search = 1; ; search += 1) {
    const filePrefix = `${write.filePrefix}-${search}`
    const merged = await watch.time('merge_batch', () => mergeInto(merge, sink, { ...write, filePrefix }))
    const { rowsRead, rowsDeleted: deletedInSource } = merge.rows
    const { rowsInserted, rowsUpdated, rowsDeleted } = merged
    const rows = { rowsRead: rowsRead - deletedInSource, rowsInserted, rowsUpdated, rowsDeleted }
    if (isUnchanged(merged) && progress.diverting === undefined) return { ...rows, committed: undefined }
    const outcome = await watch.time('commit_batch', () =>
      commitBatch({
        ...commit,
        sink,
        progress,
        stage: (fresh, options) => stageMerge(sink, merged, { fresh, options }),
      }),
    )
    if (outcome.kind === 'committed') {
      return { ...rows, committed: { table: outcome.table, snapshotId: outcome.staged.snapshotId } }
    }
    if (outcome.kind === 'refused') await discardMerge(sink, merged)
    const mustSearch = outcome.kind === 'refused' && isIcebergError(outcome.error, 'COMMIT_CONFLICT')
    if (!mustSearch || search >= MAX_SEARCHES) throw outcome.error
    const fresh = await loadSink()
    // the rows are held with the columns that the sink had
    if (fresh.metadata.currentSchemaId !== sink.metadata.currentSchemaId) throw outcome.error
    sink = fresh
  }
}

interface Diverting {
  readonly diverted: readonly WrittenRows[]
  /** Deletes what else the batch has written, when nothing can be committed. */
  readonly discard?: () => Promise<void>
}

/** Stages the diverted rows of a batch, commits the batch with a progress that names them, and then commits them. */
async function withDiverted(
  { write, commit, onDiverted, watch }: OutputBatch,
  { diverted, discard }: Diverting,
  commitSink: (progress: SinkProgress) => Promise<CommittedBatch>,
): Promise<CommittedBatch> {
  const staged = await stageRows(diverted, write.filePrefix).catch(async (error: unknown) => {
    await discard?.()
    throw error
  })
  const named = staged.length === 0 ? {} : { diverting: staged.map((rows) => rows.staged) }
  const progress: SinkProgress = { ...commit.progress, ...named }
  let output: CommittedBatch
  try {
    output = await commitSink(progress)
  } catch (error) {
    if (!isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) await discardStaged(staged)
    throw error
  }
  const { catalog, queryId, checkLease } = commit
  const rest = { catalog, sink: write.sink, queryId, progress, checkLease, onCommitted: onDiverted }
  // not stopped by the signal: the batch is in the sink
  if (staged.length > 0) await watch.time('commit_diverted', () => commitDiverted(rest))
  return output
}

function countsOf(
  { rowsDropped: dropped, checks }: CheckCounts,
  diverted: readonly WrittenRows[],
): Pick<CommittedBatch, 'rows_diverted' | 'rows_dropped' | 'checks'> {
  return { rows_diverted: diverted.reduce((sum, { rows }) => sum + rows, 0), rows_dropped: dropped, checks }
}
