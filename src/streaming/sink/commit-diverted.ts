import type { Catalog } from '../../catalog/catalog.ts'
import { tryCommitTable } from '../../catalog/commit-table.ts'
import { deleteQuietly } from '../../catalog/metadata-file.ts'
import type { StagedRows } from '../../catalog/ownership/staged-rows.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { stageAppend } from '../../iceberg/update/stage/stage-append.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { COMMIT_RETRIES } from './commit.ts'
import { type DoneBatches, findDivertTable } from './divert-table.ts'
import { batchSummary, formatProgress, progressProperty, readSinkState } from './progress.ts'
import type { SinkProgress } from './progress.ts'
import { manifestLocation, readStaged, stillPending } from './staged-rows.ts'

/** The diverted rows of a batch that is in the sink. */
export interface DivertCommit {
  readonly catalog: Catalog
  readonly sink: Table
  readonly queryId: string
  /** The progress that the sink has. */
  readonly progress: SinkProgress
  /** Says whether the batch is done, and records it; undefined for the session that has just written the batch. */
  readonly checkpoint?: (DoneBatches & Partial<Pick<Checkpoint, 'commitBatch'>>) | undefined
  /** Throws when this process must no longer commit. */
  readonly checkLease: () => void
  /** Called with each table that got rows. */
  readonly onCommitted?: ((table: Table) => void) | undefined
}

/**
 * Commits the diverted rows of a batch that is in the sink, each table with the progress of the batch. The commit of the sink has decided
 * which rows these are, so whoever repeats this commits the same files. Tables that have the batch already are left as they are, and so are
 * tables that were dropped after the checkpoint recorded the batch as done.
 *
 * Throws `DivertedRowsPending` while the rows have no table, and the errors of `tryCommitTable` and `readStaged`; the next call continues.
 */
export async function commitDiverted(commit: DivertCommit): Promise<void> {
  const { progress, checkpoint } = commit
  if (progress.diverting === undefined) return
  for (const staged of progress.diverting) await commitStaged(commit, staged)
  await checkpoint?.commitBatch?.(progress.batchId)
}

async function commitStaged(commit: DivertCommit, staged: StagedRows): Promise<void> {
  const { catalog, queryId, progress, onCommitted } = commit
  const table = await findDivertTable(commit, staged)
  if (table === undefined || isSettled(table, commit)) return
  let files: readonly DataFile[] | undefined
  const outcome = await tryCommitTable(
    catalog,
    table.identifier,
    async (fresh) => {
      commit.checkLease()
      if (fresh.metadata.tableUuid !== table.metadata.tableUuid) throw stillPending(progress, staged, 'it was replaced')
      if (isSettled(fresh, commit)) throw new Settled()
      files ??= await stagedFiles(fresh, commit, staged)
      const appended = await stageAppend(fresh, {
        files,
        operationId: `${progress.pipelineId}-${progress.batchId}-diverted`,
        summary: batchSummary(queryId, progress),
      })
      const { diverting: _, branch: __, ...own } = progress
      const updates = { [progressProperty(queryId)]: formatProgress({ ...own, pairs: [], divertedRows: staged.rows }) }
      return { ...appended, updates: [...appended.updates, { action: 'set-properties', updates }] }
    },
    { retries: COMMIT_RETRIES, confirm: async () => commit.checkLease() },
  )
  if (outcome.kind === 'refused' && outcome.error instanceof Settled) return
  if (outcome.kind !== 'committed') throw outcome.error
  onCommitted?.(outcome.table)
  await deleteQuietly(table.io, [manifestLocation(table, staged)])
}

/** Another process that commits the same rows deletes their manifest afterwards. */
async function stagedFiles(fresh: Table, commit: DivertCommit, staged: StagedRows): Promise<readonly DataFile[]> {
  try {
    return await readStaged(fresh, commit.progress, staged)
  } catch (error) {
    const now = await commit.catalog.loadTable(fresh.identifier)
    const isSame = now.metadata.tableUuid === fresh.metadata.tableUuid
    throw isSame && isSettled(now, commit) ? new Settled() : error
  }
}

/** Another process has committed the rows meanwhile. */
class Settled extends Error {}

function isSettled({ metadata }: Table, { queryId, progress }: DivertCommit): boolean {
  return readSinkState(metadata, queryId).lastBatch >= progress.batchId
}
