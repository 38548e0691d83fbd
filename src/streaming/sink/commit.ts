import type { Catalog } from '../../catalog/catalog.ts'
import { type ChangeOutcome, tryCommitTable } from '../../catalog/commit-table.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { StagedSnapshot, StageOptions } from '../../iceberg/update/stage/snapshot-producer.ts'
import { Overtaken, PipelineStopped } from '../pipeline-errors.ts'
import { batchSummary, formatProgress, progressProperty, readSinkState } from './progress.ts'
import type { SinkProgress } from './progress.ts'

export interface SinkCommit {
  readonly catalog: Catalog
  /** The sink as it was when the batch was written. */
  readonly sink: Table
  readonly queryId: string
  readonly progress: SinkProgress
  /** The last batch that this run knows to be in the sink; -1 for none. */
  readonly lastBatch: number
  /** Stages the files of the batch on the sink as it is now; throws when they do not fit it any more. */
  readonly stage: (fresh: Table, options: StageOptions) => Promise<StagedSnapshot>
  /** Called before every attempt, and right before it takes effect; throws when this process must no longer commit. */
  readonly checkLease: () => void
  readonly signal?: AbortSignal
}

/** Compactions and other pipelines commit to the same table, so a batch retries for a while. */
export const RETRIES = { count: 30, minWaitMs: 50, maxWaitMs: 2000, totalTimeoutMs: 120_000 }

/**
 * Commits the rows of a batch together with its progress. Every attempt first checks that the last batch of the query
 * in the sink is the one this run expects, so that no batch can be committed twice. If another copy of the pipeline has
 * committed, it throws `PipelineStopped` `FENCED`; if another process with the same run has, `Overtaken`. All other
 * outcomes are those of `tryCommitTable`.
 */
export async function commitBatch(commit: SinkCommit): Promise<ChangeOutcome<StagedSnapshot>> {
  const { catalog, sink, queryId, progress } = commit
  return tryCommitTable(
    catalog,
    sink.identifier,
    async (fresh) => {
      commit.checkLease()
      requireSame(sink, fresh)
      requireExpected(commit, fresh)
      const staged = await commit.stage(fresh, {
        operationId: `${progress.pipelineId}-${progress.batchId}`,
        summary: batchSummary(queryId, progress),
      })
      const updates = { [progressProperty(queryId)]: formatProgress(progress) }
      return { ...staged, updates: [...staged.updates, { action: 'set-properties', updates }] }
    },
    { retries: RETRIES, confirm: async () => commit.checkLease(), ...(commit.signal && { signal: commit.signal }) },
  )
}

/** Throws `PipelineStopped` when the table was replaced. */
export function requireSame(expected: Table, fresh: Table): void {
  if (expected.metadata.tableUuid === fresh.metadata.tableUuid) return
  throw new PipelineStopped(
    'TABLE_REPLACED',
    `${formatIdentifier(fresh.identifier)} is now a different table: start a pipeline with a new checkpoint for it`,
  )
}

/** Throws when the table has a later batch of the query than this run knows. */
export function requireExpected(
  { queryId, lastBatch, progress }: Pick<SinkCommit, 'queryId' | 'lastBatch' | 'progress'>,
  fresh: Table,
): void {
  const found = readSinkState(fresh.metadata, queryId)
  if (found.lastBatch <= lastBatch) return
  const by = found.runId === undefined ? 'Spark' : `run ${found.runId} of pipeline ${found.progress?.pipelineId ?? ''}`
  const message =
    `${formatIdentifier(fresh.identifier)} already has batch ${found.lastBatch} from ${by}, and this run was about to ` +
    `commit batch ${progress.batchId}: another copy of this pipeline is running; nothing was committed`
  if (found.runId === progress.runId) throw new Overtaken(message)
  throw new PipelineStopped('FENCED', message)
}
