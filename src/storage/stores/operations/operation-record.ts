import type { Selectable } from 'kysely'

import { fromColumn, fromRequiredColumn, type StoredJson, toColumn } from '../../json-column.ts'
import type { StagedCommit } from '../../../iceberg/update/staged-commit.ts'
import { decodeOptional } from '../../nullable.ts'
import type { OperationState, OperationsTable } from '../../schema.ts'
import { stagedCommitFromColumn, stagedCommitToColumn } from '../../staged-commit-column.ts'

/** The progress of an operation: counts of data files, and bytes. */
export interface OperationProgress {
  readonly files_done: number
  readonly files_total: number
  readonly bytes_done: number
  readonly bytes_total: number
}

/** What recovery after a crash must check: files that this operation may have written, or their prefixes. */
export interface OperationCleanup {
  readonly files?: readonly string[]
  readonly prefixes?: readonly string[]
}

export interface OperationError {
  readonly code: string
  readonly message: string
}

/** What an operation removed; null where that is not known. Bytes below 0 were added. */
export interface StoredFigures {
  readonly files_removed: number | null
  readonly delete_files_removed: number | null
  readonly manifests_removed: number | null
  readonly bytes_freed: number | null
  readonly storage_freed_bytes: number | null
  readonly bytes_rewritten: number | null
}

/** What planning a full scan costs. */
export interface StoredScanCost {
  readonly planningMs: number
  readonly manifests: number
  readonly dataFiles: number
  readonly deleteFiles: number
}

/** What an operation was expected to gain, and what was measured. */
export interface StoredReceipt {
  readonly projected: StoredFigures | null
  readonly measured: StoredFigures
  readonly scan: { readonly before: StoredScanCost; readonly after: StoredScanCost } | null
}

/** One entry of the ledger: an operation, who ran it, on which table, and its outcome. */
export interface OperationRecord extends OperationDetails {
  readonly id: string
  readonly kind: string
  readonly table: string
  readonly state: OperationState
  readonly requestedBy: string
  readonly requestId?: string
  readonly request: StoredJson
  readonly createdAt: string
  readonly finishedAt?: string
  readonly error?: OperationError
  /** The process that runs it. */
  readonly instanceId?: number
  /** What it has in common with operations that were started together with it. */
  readonly group?: string
}

/** The fields that are set while an operation runs. */
export interface OperationDetails {
  readonly startedAt?: string
  readonly plan?: StoredJson
  readonly progress?: OperationProgress
  readonly baseMetadataLocation?: string
  readonly baseSnapshotId?: string
  /** The last commit that was about to be sent and may have succeeded. */
  readonly staged?: StagedCommit
  readonly snapshotId?: string
  readonly cleanup?: OperationCleanup
  readonly healthBefore?: StoredJson
  readonly healthAfter?: StoredJson
  readonly result?: StoredJson
  readonly receipt?: StoredReceipt
  readonly bytesRead?: number
  readonly bytesWritten?: number
  readonly durationMs?: number
}

/** Columns for the given details; absent ones stay unchanged. */
export function detailColumns(details: OperationDetails): Partial<OperationsTable> {
  const columns = {
    started_at: details.startedAt,
    plan_json: toColumn(details.plan),
    progress_json: toColumn(details.progress),
    base_metadata_location: details.baseMetadataLocation,
    base_snapshot_id: details.baseSnapshotId,
    staged_metadata_location: stagedCommitToColumn(details.staged),
    snapshot_id: details.snapshotId,
    cleanup_json: toColumn(details.cleanup),
    health_before_json: toColumn(details.healthBefore),
    health_after_json: toColumn(details.healthAfter),
    result_json: toColumn(details.result),
    receipt_json: toColumn(details.receipt),
    bytes_read: details.bytesRead,
    bytes_written: details.bytesWritten,
    duration_ms: details.durationMs,
  }
  return decodeOptional(columns)
}

/** An operation from its row. */
export function operationFromRow(row: Selectable<OperationsTable>): OperationRecord {
  return {
    id: row.id,
    kind: row.kind,
    table: row.table_name,
    state: row.state,
    requestedBy: row.requested_by,
    request: fromRequiredColumn(row.request_json),
    createdAt: row.created_at,
    ...decodeOptional({
      requestId: row.request_id,
      finishedAt: row.finished_at,
      error: fromColumn<OperationError>(row.error_json),
      instanceId: row.instance_id,
      group: row.group_id,
    }),
    ...detailsFromRow(row),
  }
}

function detailsFromRow(row: Selectable<OperationsTable>): OperationDetails {
  return decodeOptional({
    startedAt: row.started_at,
    plan: fromColumn(row.plan_json),
    progress: fromColumn<OperationProgress>(row.progress_json),
    baseMetadataLocation: row.base_metadata_location,
    baseSnapshotId: row.base_snapshot_id,
    staged: stagedCommitFromColumn(row.staged_metadata_location),
    snapshotId: row.snapshot_id,
    cleanup: fromColumn<OperationCleanup>(row.cleanup_json),
    healthBefore: fromColumn(row.health_before_json),
    healthAfter: fromColumn(row.health_after_json),
    result: fromColumn(row.result_json),
    receipt: fromColumn<StoredReceipt>(row.receipt_json),
    bytesRead: row.bytes_read,
    bytesWritten: row.bytes_written,
    durationMs: row.duration_ms,
  })
}
