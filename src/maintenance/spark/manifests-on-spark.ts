import { rewriteManifests } from '../../engines/spark/maintenance/procedures.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import type { RewriteManifestsDetails } from '../manifests/rewrite-manifests.ts'
import { withSparkTable } from './open-table.ts'
import { runProcedure, type SparkOutcome, type SparkRunContext } from './run-procedure.ts'
import type { CheckedSnapshot } from './spark-snapshots.ts'

/** A rewrite of manifests by Spark, checked to have changed no data file and no row. */
export interface SparkManifestsDetails extends RewriteManifestsDetails {
  /** Spark's version; null when another process had started the work. */
  readonly spark_version: string | null
}

/** Rewrites manifests with `rewrite_manifests`. Errors as of `withSparkTable` and `runProcedure`. */
export async function rewriteManifestsOnSpark(table: Table, context: SparkRunContext): Promise<SparkManifestsDetails> {
  const { spark, catalog, signal, baseSnapshotId } = context
  return withSparkTable({ spark, catalogName: catalog.name, table, signal }, async (opened) => {
    throwIfCancelled(signal)
    const sql = rewriteManifests(opened.name)
    const outcome = await runProcedure(opened, { kind: 'rewrite_manifests', sql }, context)
    return { ...manifestsDetails(outcome, baseSnapshotId), spark_version: opened.version }
  })
}

/** The outcome in the column names of `rewrite_manifests`, from the summaries of its snapshots. */
export function manifestsDetails(
  { snapshots }: Pick<SparkOutcome, 'snapshots'>,
  baseSnapshotId: bigint | undefined,
): SparkManifestsDetails {
  const base = baseSnapshotId?.toString() ?? null
  return {
    rewritten_manifests_count: sumOf(snapshots, 'manifests-replaced'),
    added_manifests_count: sumOf(snapshots, 'manifests-created'),
    base_snapshot_id: base,
    snapshot_id: snapshots.at(-1)?.snapshot.snapshotId.toString() ?? base,
    spark_version: null,
  }
}

function sumOf(snapshots: readonly CheckedSnapshot[], entry: string): number {
  return snapshots.reduce((total, { snapshot }) => total + Number(snapshot.summary[entry] ?? 0), 0)
}
