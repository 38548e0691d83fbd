import { rewriteDataFiles } from '../../engines/spark/maintenance/procedures.ts'
import type { SparkProgress } from '../../engines/spark/connect/spark-client.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { CompactionPlan } from '../compaction/plan.ts'
import type { CompactionProgress } from '../compaction/progress.ts'
import { type CompactionDetails, CompactionTally } from '../compaction/result.ts'
import { rewriteDataFilesOf } from './compaction-call.ts'
import { type SparkTarget, withSparkTable } from './open-table.ts'
import { runProcedure, type SparkOutcome, type SparkRunContext } from './run-procedure.ts'
import type { CheckedSnapshot } from './spark-snapshots.ts'

/** Outcome of a compaction by Spark; every count comes from the manifests of its snapshots. */
export interface SparkCompactionDetails extends Omit<
  CompactionDetails,
  'carried_over_deletes_count' | 'verify_ms' | 'verified_columns' | 'failures' | 'groups_count'
> {
  readonly verified: 'counts'
  /** `range`: files had deletes whose rows manifests do not tell, and were too large to count. */
  readonly row_check: 'exact' | 'range'
  /** Spark's version; null when another process had started the work. */
  readonly spark_version: string | null
}

/** A compaction on Spark. */
export interface SparkCompaction {
  readonly table: Table
  readonly plan: CompactionPlan
  readonly context: SparkRunContext
}

/** What Spark has to be able to do. */
export interface PlannedForSpark extends Omit<SparkTarget, 'needsExtensions'> {
  readonly plan: CompactionPlan
}

/** Throws what keeps Spark from running the plan; sends nothing that changes anything. Errors as `withSparkTable`. */
export async function requireSparkForCompaction({ plan, ...target }: PlannedForSpark): Promise<void> {
  rewriteDataFilesOf(plan, target.table.metadata)
  await withSparkTable({ ...target, needsExtensions: needsExtensions(plan) }, async () => undefined)
}

/** Compacts a table with `rewrite_data_files`. Errors as of `withSparkTable` and `runProcedure`. */
export async function compactOnSpark({ table, plan, context }: SparkCompaction): Promise<SparkCompactionDetails> {
  const { spark, catalog, signal } = context
  const base = new CompactionTally(plan).details()
  if (plan.groups.length === 0) return compactionDetails({ row: undefined, snapshots: [] }, base)
  const asked = rewriteDataFilesOf(plan, table.metadata)
  const target = { spark, catalogName: catalog.name, table, needsExtensions: needsExtensions(plan), signal }
  return withSparkTable(target, async (opened) => {
    throwIfCancelled(signal)
    const sql = rewriteDataFiles(opened.name, asked)
    const outcome = await runProcedure(opened, { kind: 'compact', sql }, context)
    return { ...compactionDetails(outcome, base), spark_version: opened.version }
  })
}

function needsExtensions({ options }: CompactionPlan): boolean {
  return options.sortOrder !== undefined
}

/** The outcome in the column names of `rewrite_data_files`. */
export function compactionDetails(
  { row, snapshots }: SparkOutcome,
  base: Pick<CompactionDetails, 'base_snapshot_id'>,
): SparkCompactionDetails {
  const sum = (of: (checked: CheckedSnapshot) => number): number =>
    snapshots.reduce((total, checked) => total + of(checked), 0)
  const rowsRead = sum((one) => one.rowsRead)
  const rowsWritten = sum((one) => one.rowsWritten)
  return {
    rewritten_data_files_count: sum(({ removed }) => removed.length),
    added_data_files_count: sum(({ added }) => added.length),
    rewritten_bytes_count: sum(({ removed }) => bytesOf(removed)),
    copied_data_files_count: 0,
    copied_bytes_count: 0,
    added_bytes_count: sum(({ added }) => bytesOf(added)),
    failed_data_files_count: Number(row?.['failed_data_files_count'] ?? 0),
    removed_delete_files_count: sum(({ snapshot }) => Number(snapshot.summary['removed-delete-files'] ?? 0)),
    base_snapshot_id: base.base_snapshot_id,
    snapshot_id: snapshots.at(-1)?.snapshot.snapshotId.toString() ?? null,
    rows_read: rowsRead,
    rows_deleted: rowsRead - rowsWritten,
    rows_written: rowsWritten,
    verified: 'counts',
    row_check: snapshots.every(({ isExact }) => isExact) ? 'exact' : 'range',
    commits_count: snapshots.length,
    spark_version: null,
  }
}

function bytesOf(tasks: CheckedSnapshot['added']): number {
  return tasks.reduce((total, { dataFile }) => total + dataFile.fileSizeInBytes, 0)
}

/** Progress in tasks as progress in files: bytes read tell more, where Spark counts them. */
export function compactionProgress(
  { files, bytes }: Pick<CompactionPlan['totals'], 'files' | 'bytes'>,
  { tasksDone, tasksTotal, bytesRead }: SparkProgress,
): Pick<CompactionProgress, 'filesDone' | 'filesTotal' | 'bytesDone' | 'bytesTotal'> {
  const byBytes = bytes === 0 ? 0 : bytesRead / bytes
  const share = Math.min(1, bytesRead > 0 ? byBytes : tasksTotal === 0 ? 0 : tasksDone / tasksTotal)
  return {
    filesDone: Math.floor(files * share),
    filesTotal: files,
    bytesDone: Math.floor(bytes * share),
    bytesTotal: bytes,
  }
}
