import type { Catalog } from '../catalog/catalog.ts'
import { commitTable } from '../catalog/commit-table.ts'
import { formatIdentifier } from '../catalog/table-identifier.ts'
import type { DataFile } from '../iceberg/manifest.ts'
import type { Table } from '../iceberg/table.ts'
import type { StagedSnapshot } from '../iceberg/update/snapshot-producer.ts'
import { stageAppend } from '../iceberg/update/stage-append.ts'
import { Overtaken, PipelineStopped } from './pipeline-errors.ts'
import { batchSummary, formatProgress, progressProperty, readSinkState } from './sink-progress.ts'
import type { SinkProgress } from './sink-progress.ts'

export interface SinkCommit {
  readonly catalog: Catalog
  /** The sink as the batch was written for it. */
  readonly sink: Table
  readonly queryId: string
  readonly progress: SinkProgress
  /** The last batch that this run knows to be in the sink; -1 for none. */
  readonly lastBatch: number
  readonly files: readonly DataFile[]
  /** Before every attempt; throws when this process must not commit any more. */
  readonly checkLease: () => void
  readonly signal?: AbortSignal
}

/** Compactions and other pipelines commit into the same table: a batch waits for its turn for a while. */
const RETRIES = { count: 30, minWaitMs: 50, maxWaitMs: 2000, totalTimeoutMs: 120_000 }

/**
 * Commits the rows of a batch together with the progress that they stand for. Every attempt checks first that the last
 * batch of the query in the sink is the one that this run knows of, so that no batch can be committed twice: another
 * copy of the pipeline throws `PipelineStopped` `FENCED`, another process with the same run `Overtaken`. All other errors
 * are those of `commitTable`.
 */
export async function commitBatch(commit: SinkCommit): Promise<{ readonly table: Table; readonly snapshotId: bigint }> {
  const { catalog, sink, queryId, progress } = commit
  let staged: StagedSnapshot | undefined
  const { table } = await commitTable(
    catalog,
    sink.identifier,
    async (fresh) => {
      commit.checkLease()
      requireSame(sink, fresh)
      requireExpected(commit, fresh)
      staged = await stageAppend(fresh, {
        files: commit.files,
        operationId: `${progress.pipelineId}-${progress.batchId}`,
        summary: batchSummary(queryId, progress),
      })
      const updates = { [progressProperty(queryId)]: formatProgress(progress) }
      return { ...staged, updates: [...staged.updates, { action: 'set-properties', updates }] }
    },
    { retries: RETRIES, ...(commit.signal && { signal: commit.signal }) },
  )
  return { table, snapshotId: staged?.snapshotId ?? 0n }
}

function requireSame(expected: Table, fresh: Table): void {
  if (expected.metadata.tableUuid === fresh.metadata.tableUuid) return
  throw new PipelineStopped(
    'TABLE_REPLACED',
    `another table has the name ${formatIdentifier(fresh.identifier)} now: start a pipeline with a new checkpoint for it`,
  )
}

function requireExpected({ queryId, lastBatch, progress }: SinkCommit, fresh: Table): void {
  const found = readSinkState(fresh.metadata, queryId)
  if (found.lastBatch <= lastBatch) return
  const by = found.runId === undefined ? 'Spark' : `run ${found.runId} of pipeline ${found.progress?.pipelineId ?? ''}`
  const message =
    `${formatIdentifier(fresh.identifier)} has batch ${found.lastBatch} from ${by} already, and this run was about to ` +
    `commit batch ${progress.batchId}: another copy of this pipeline is running; nothing was committed`
  if (found.runId === progress.runId) throw new Overtaken(message)
  throw new PipelineStopped('FENCED', message)
}
