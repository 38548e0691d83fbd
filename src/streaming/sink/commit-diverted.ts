import type { Catalog } from '../../catalog/catalog.ts'
import { tryCommitTable } from '../../catalog/commit-table.ts'
import { deleteQuietly } from '../../catalog/metadata-file.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import { stageOverwrite } from '../../iceberg/update/stage/stage-overwrite.ts'
import { mismatch, Overtaken } from '../pipeline-errors.ts'
import { COMMIT_RETRIES, requireExpected, requireSame } from './commit.ts'
import { batchSummary, formatProgress, newestBatch, progressProperty, readSinkState } from './progress.ts'
import type { DivertedBatch, SinkProgress, SinkState } from './progress.ts'

/** The rows that a batch diverts into one table. */
export interface DivertCommit {
  readonly catalog: Catalog
  /** The table as it was when the rows were written. */
  readonly table: Table
  readonly queryId: string
  /** With {@link SinkProgress.diverted}. */
  readonly progress: SinkProgress & { readonly diverted: DivertedBatch }
  readonly files: readonly DataFile[]
  /** Throws when this process must no longer commit. */
  readonly checkLease: () => void
  readonly signal?: AbortSignal
}

/**
 * Commits the diverted rows of a batch with their progress, before the batch itself. When a run ended between the two commits, the
 * table already has rows of this batch, and the batch is computed again. The same rows are not written twice, and other rows, of a query that
 * is not repeatable, replace them. Returns the table after the commit; undefined if nothing was committed, and then the files are deleted.
 *
 * Throws `CHECKPOINT_MISMATCH` when the table has a later batch, or rows of this batch that cannot be replaced because another operation
 * has rewritten them; else as `commitBatch`.
 */
export async function commitDiverted(commit: DivertCommit): Promise<Table | undefined> {
  const { table, queryId, progress, files } = commit
  const known = readSinkState(table.metadata, queryId)
  try {
    requireReached(commit, known)
    if (isDone(known, progress, files)) {
      await discard(commit)
      return undefined
    }
  } catch (error) {
    await discard(commit)
    throw error
  }
  return commitRows(commit, known)
}

async function commitRows(commit: DivertCommit, known: SinkState): Promise<Table> {
  const { catalog, table, queryId, progress, files, signal } = commit
  const outcome = await tryCommitTable(
    catalog,
    table.identifier,
    async (fresh) => {
      commit.checkLease()
      requireSame(table, fresh)
      requireExpected({ queryId, progress, lastBatch: known.lastBatch }, fresh)
      requireUnmoved(commit, fresh)
      const options = {
        operationId: `${progress.pipelineId}-${progress.batchId}-diverted`,
        summary: batchSummary(queryId, progress),
      }
      const removed = known.lastBatch === progress.batchId ? await earlierFiles(fresh, commit, known) : []
      const staged = await (removed.length === 0
        ? stageAppend(fresh, { ...options, files })
        : stageOverwrite(fresh, { ...options, removed, added: files }))
      const updates = { [progressProperty(queryId)]: formatProgress(progress) }
      return { ...staged, updates: [...staged.updates, { action: 'set-properties', updates }] }
    },
    { retries: COMMIT_RETRIES, confirm: async () => commit.checkLease(), ...(signal && { signal }) },
  )
  if (outcome.kind === 'refused') await discard(commit)
  if (outcome.kind !== 'committed') throw outcome.error
  return outcome.table
}

function requireReached({ table, progress }: DivertCommit, { lastBatch }: SinkState): void {
  if (lastBatch <= progress.batchId) return
  throw mismatch(
    `${formatIdentifier(table.identifier)} already has diverted rows of batch ${lastBatch}, but the pipeline is at batch ` +
      `${progress.batchId}: the checkpoint is older than the table. Restore the newest checkpoint, or start a pipeline with a new one`,
  )
}

/** Another process may have repeated the same batch meanwhile. */
function requireUnmoved({ table, queryId, progress }: DivertCommit, fresh: Table): void {
  const property = progressProperty(queryId)
  if (fresh.metadata.properties[property] === table.metadata.properties[property]) return
  const name = formatIdentifier(fresh.identifier)
  throw new Overtaken(
    `another process has diverted rows of batch ${progress.batchId} into ${name}: nothing was committed`,
  )
}

/** Whether the table has what the batch diverts. */
function isDone(
  known: SinkState,
  { batchId, diverted }: DivertCommit['progress'],
  files: readonly DataFile[],
): boolean {
  if (known.lastBatch < batchId) return files.length === 0
  return known.progress?.diverted?.fingerprint === diverted.fingerprint
}

/** The files with the rows that an earlier attempt of the batch diverted. */
async function earlierFiles(
  fresh: Table,
  { queryId, progress }: DivertCommit,
  known: SinkState,
): Promise<readonly DataFile[]> {
  const rows = known.progress?.diverted?.rows
  const snapshot = newestBatch(fresh.metadata, queryId)
  const tasks = await planFiles(fresh)
  const own = tasks.filter(({ fileSequenceNumber }) => fileSequenceNumber === snapshot?.sequenceNumber)
  const isWhole =
    own.every(({ deletes }) => deletes.length === 0) &&
    (rows ?? 0) === sumOf(own.map(({ dataFile }) => dataFile.recordCount))
  if (isWhole && fresh.metadata.formatVersion > 1) return own.map(({ dataFile }) => dataFile)
  const name = formatIdentifier(fresh.identifier)
  throw mismatch(
    `${name} has ${rows ?? 'some'} rows of batch ${progress.batchId} that an earlier attempt diverted, this attempt diverts ` +
      `other rows, and the earlier ones cannot be replaced because ${name} was rewritten since. Delete the rows of ${name} with ` +
      `_pipeline = '${progress.pipelineId}' and _batch_id = ${progress.batchId}, remove the table property ` +
      `"${progressProperty(queryId)}", and start the pipeline again`,
  )
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** Deletes the files of rows that are not committed. */
async function discard({ table, files }: DivertCommit): Promise<void> {
  await deleteQuietly(
    table.io,
    files.map(({ filePath }) => filePath),
  )
}
