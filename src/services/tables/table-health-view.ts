import { OPERATIONS } from '../../domain/tables/operations.ts'
import { deleteFileCount } from '../../domain/tables/table-health.ts'
import type { TableHealthReport } from '../../maintenance/inspection/table-inspector.ts'
import type { tableHealth } from '../../schemas/tables/tables.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { StoredJson } from '../../storage/json-column.ts'

/** A health report as the API returns it (docs/api.md#tables). */
export function describeHealth(
  table: string,
  report: TableHealthReport,
): Omit<Wire<typeof tableHealth>, 'success' | 'table' | 'last_updated_at'> {
  const { facts } = report
  return {
    ...healthNumbers(report),
    recommendation: report.recommendation,
    delete_files: {
      position: facts.positionDeletes.count,
      equality: facts.equalityDeletes.count,
      deletion_vectors: facts.deletionVectors.count,
    },
    small_file_threshold_bytes: facts.smallFileThresholdBytes,
    file_size_histogram: facts.histogram.map(({ fromBytes, toBytes, files, bytes }) => ({
      from_bytes: fromBytes,
      to_bytes: toBytes ?? null,
      files,
      bytes,
    })),
    oldest_snapshot_at:
      facts.oldestSnapshotAtMs === undefined ? null : new Date(facts.oldestSnapshotAtMs).toISOString(),
    factors: report.factors,
    actions: report.actions.map(({ operation, reason, options, projected }) => ({
      operation,
      reason,
      request: { method: 'POST', path: OPERATIONS[operation].request.path, body: { table, ...options } },
      projected,
    })),
  }
}

/** The health numbers that the ledger stores before and after an operation. */
export function healthDigest(report: TableHealthReport): StoredJson {
  return healthNumbers(report)
}

function healthNumbers({ facts, score }: TableHealthReport) {
  const { count, bytes, records } = facts.dataFiles
  return {
    score,
    snapshot_count: facts.snapshotCount,
    data_file_count: count,
    total_size_bytes: bytes,
    avg_file_size_bytes: count === 0 ? 0 : Math.round(bytes / count),
    small_file_count: facts.smallFileCount,
    delete_file_count: deleteFileCount(facts),
    manifest_count: facts.manifestCount,
    partition_count: facts.partitionCount,
    record_count: records,
  }
}
