import type { PartitionSpec } from './partitioning.ts'
import type { Schema } from './schema.ts'
import type { Snapshot, SnapshotRef } from './snapshots.ts'
import type { SortOrder } from './sort-order.ts'
import type { JsonObject } from './json/lossless-json.ts'

export interface SnapshotLogEntry {
  readonly snapshotId: bigint
  readonly timestampMs: number
}

export interface MetadataLogEntry {
  readonly metadataFile: string
  readonly timestampMs: number
}

/** A statistics or partition-statistics file of a snapshot. */
export interface StatisticsFile {
  readonly snapshotId: bigint
  readonly statisticsPath: string
  readonly fileSizeInBytes: number
}

/**
 * Table metadata (Iceberg spec, "Table Metadata"), format versions 1 to 3: a typed view over `json`,
 * which is the document as it was read, unknown keys and exact 64-bit integers included.
 * v1 documents are presented in v2 terms (one schema becomes `schemas`, and so on).
 */
export interface TableMetadata {
  readonly json: JsonObject
  readonly formatVersion: 1 | 2 | 3
  readonly tableUuid: string
  readonly location: string
  readonly lastSequenceNumber: number
  readonly lastUpdatedMs: number
  readonly lastColumnId: number
  readonly currentSchemaId: number
  readonly schemas: readonly Schema[]
  readonly defaultSpecId: number
  readonly partitionSpecs: readonly PartitionSpec[]
  readonly lastPartitionId: number
  readonly defaultSortOrderId: number
  readonly sortOrders: readonly SortOrder[]
  readonly properties: Readonly<Record<string, string>>
  readonly currentSnapshotId?: bigint
  readonly snapshots: readonly Snapshot[]
  readonly snapshotLog: readonly SnapshotLogEntry[]
  readonly metadataLog: readonly MetadataLogEntry[]
  readonly refs: Readonly<Record<string, SnapshotRef>>
  readonly statistics: readonly StatisticsFile[]
  readonly partitionStatistics: readonly StatisticsFile[]
  /** v3 only. */
  readonly nextRowId?: number
  /** v3 `encryption-keys` present and not empty: the table must not be rewritten. */
  readonly encrypted: boolean
}
