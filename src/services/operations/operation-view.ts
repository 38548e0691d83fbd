import type { Prices } from '../../domain/tables/prices.ts'
import type { Operation } from '../../schemas/tables/operations.ts'
import type { OperationRecord } from '../../storage/stores/operations/operation-record.ts'
import { receiptView } from './receipt.ts'

/** An operation as the API returns it; without prices, its receipt has no money. */
export function toOperation(record: OperationRecord, prices?: Prices): Operation {
  return {
    id: record.id,
    operation: record.kind,
    table: record.table,
    state: record.state,
    requested_by: record.requestedBy,
    request: record.request,
    progress: record.progress ?? null,
    base_snapshot_id: record.baseSnapshotId ?? null,
    snapshot_id: record.snapshotId ?? null,
    health_before: record.healthBefore ?? null,
    health_after: record.healthAfter ?? null,
    result: record.result ?? null,
    receipt: record.receipt === undefined ? null : receiptView(record.receipt, prices),
    error: record.error ?? null,
    ...costOf(record),
    ...timesOf(record),
    request_id: record.requestId ?? null,
    group: record.group ?? null,
  }
}

function timesOf(record: OperationRecord): Pick<Operation, 'created_at' | 'started_at' | 'finished_at'> {
  return {
    created_at: record.createdAt,
    started_at: record.startedAt ?? null,
    finished_at: record.finishedAt ?? null,
  }
}

/** What an operation read, wrote and took; null where it was not measured. */
function costOf(record: OperationRecord): Pick<Operation, 'bytes_read' | 'bytes_written' | 'duration_ms'> {
  return {
    bytes_read: record.bytesRead ?? null,
    bytes_written: record.bytesWritten ?? null,
    duration_ms: record.durationMs ?? null,
  }
}
