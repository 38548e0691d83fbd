import { z } from 'zod'
import {
  bytes,
  count,
  catalogName,
  namespaceName,
  nextPageToken,
  pageQuery,
  snapshotId,
  tableName,
  timestamp,
} from '../common.ts'

export const tableParams = z.strictObject({ table_name: tableName })

export const listTablesQuery = pageQuery.extend({
  catalog: catalogName.optional(),
  namespace: namespaceName.optional(),
})

export const tableList = z
  .object({
    success: z.literal(true),
    tables: z.array(z.object({ name: z.string(), namespace: z.string(), table: z.string() })),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'TableList' })

const sortField = z.object({ source_id: z.int(), transform: z.string(), direction: z.string(), null_order: z.string() })
const partitionField = z.object({ field_id: z.int(), source_id: z.int(), name: z.string(), transform: z.string() })

const ageMs = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .meta({ description: 'Milliseconds, as text; 9223372036854775807 means never', example: '432000000' })

const ref = z.object({
  name: z.string(),
  type: z.enum(['branch', 'tag']),
  snapshot_id: snapshotId,
  min_snapshots_to_keep: z.int().nullable(),
  max_snapshot_age_ms: ageMs.nullable(),
  max_ref_age_ms: ageMs.nullable(),
})

export const tableOverview = z
  .object({
    success: z.literal(true),
    table: z.string(),
    location: z.string(),
    metadata_location: z.string(),
    format_version: z.int(),
    uuid: z.string(),
    current_snapshot_id: snapshotId.nullable(),
    refs: z.array(ref),
    partition_spec: z.object({ spec_id: z.int(), fields: z.array(partitionField) }),
    sort_order: z.object({ order_id: z.int(), fields: z.array(sortField) }),
    properties: z.record(z.string(), z.string()),
    last_updated_at: timestamp,
  })
  .meta({ id: 'TableOverview' })

export const column = z
  .object({
    name: z.string(),
    type: z.string(),
    nullable: z.boolean(),
    comment: z.string().nullable(),
    id: z.int(),
    path: z.string(),
  })
  .meta({ id: 'Column' })

export const tableSchema = z
  .object({ success: z.literal(true), table: z.string(), schema_id: z.int(), columns: z.array(column) })
  .meta({ id: 'TableSchema' })

const projection = z.record(z.string(), z.unknown())

export const healthNumbers = {
  snapshot_count: count,
  data_file_count: count,
  total_size_bytes: bytes,
  avg_file_size_bytes: bytes,
  small_file_count: count,
  recommendation: z.string(),
  delete_file_count: count,
  delete_files: z.object({ position: count, equality: count, deletion_vectors: count }),
  manifest_count: count,
  partition_count: count,
  record_count: count,
  small_file_threshold_bytes: bytes,
  file_size_histogram: z.array(z.object({ from_bytes: bytes, to_bytes: bytes.nullable(), files: count, bytes: bytes })),
  oldest_snapshot_at: timestamp.nullable(),
  score: z.int().min(0).max(100),
  factors: z.array(z.object({ name: z.string(), penalty: z.number(), max_penalty: z.number(), detail: z.string() })),
  actions: z.array(
    z.object({
      operation: z.string(),
      reason: z.string(),
      request: z.object({ method: z.string(), path: z.string(), body: z.record(z.string(), z.unknown()) }),
      projected: projection,
    }),
  ),
}

export const tableHealth = z
  .object({
    success: z.literal(true),
    table: z.string(),
    last_updated_at: timestamp.meta({
      description: 'When the table last changed, including its schema and properties',
    }),
    ...healthNumbers,
  })
  .meta({ id: 'TableHealth' })

export const snapshotList = z
  .object({
    success: z.literal(true),
    snapshots: z.array(
      z.object({
        snapshot_id: snapshotId,
        parent_id: snapshotId.nullable(),
        sequence_number: count,
        committed_at: timestamp,
        operation: z.string().nullable(),
        summary: z.record(z.string(), z.string()),
        refs: z.array(z.string()),
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'SnapshotList' })

export const fileList = z
  .object({
    success: z.literal(true),
    files: z.array(
      z.object({
        content: z.enum(['data', 'position-deletes', 'equality-deletes']),
        file_path: z.string(),
        file_format: z.string(),
        spec_id: z.int(),
        partition: z.record(z.string(), z.string().nullable()),
        record_count: count,
        file_size_in_bytes: bytes,
        sequence_number: count,
        referenced_data_file: z.string().nullable(),
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'FileList' })

export const partitionList = z
  .object({
    success: z.literal(true),
    partitions: z.array(
      z.object({
        spec_id: z.int(),
        partition: z.record(z.string(), z.string().nullable()),
        data_file_count: count,
        record_count: count,
        total_size_bytes: bytes,
        small_file_count: count,
        delete_file_count: count,
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'PartitionList' })

export const historyList = z
  .object({
    success: z.literal(true),
    history: z.array(
      z.object({
        made_current_at: timestamp,
        snapshot_id: snapshotId,
        parent_id: snapshotId.nullable(),
        is_current_ancestor: z.boolean(),
      }),
    ),
    next_page_token: nextPageToken,
  })
  .meta({ id: 'HistoryList' })

export const refList = z
  .object({ success: z.literal(true), refs: z.array(ref), next_page_token: nextPageToken })
  .meta({ id: 'RefList' })

export const registerRequest = z.strictObject({ table: tableName, metadata_location: z.string().min(1).max(4000) })
