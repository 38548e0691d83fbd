import type { PartitionTuple } from '../partitioning/partitioning.ts'

export type FileContent = 'data' | 'position-deletes' | 'equality-deletes'

/**
 * A data or delete file as a manifest describes it (Iceberg spec, "Manifests").
 * Counts, sizes, offsets and sequence numbers are numbers (the reader refuses anything over 2^53);
 * maps are by field id; bounds are the binary single-value serialization (Appendix D).
 */
export interface DataFile {
  readonly content: FileContent
  readonly filePath: string
  /** Lower case: `parquet`, `avro`, `orc`, `puffin`, or another text from the file. */
  readonly fileFormat: string
  /** From the manifest that holds the entry. */
  readonly specId: number
  readonly partition: PartitionTuple
  readonly recordCount: number
  readonly fileSizeInBytes: number
  readonly columnSizes?: ReadonlyMap<number, number>
  readonly valueCounts?: ReadonlyMap<number, number>
  readonly nullValueCounts?: ReadonlyMap<number, number>
  readonly nanValueCounts?: ReadonlyMap<number, number>
  readonly lowerBounds?: ReadonlyMap<number, Uint8Array>
  readonly upperBounds?: ReadonlyMap<number, Uint8Array>
  readonly keyMetadata?: Uint8Array
  readonly splitOffsets?: readonly number[]
  readonly equalityIds?: readonly number[]
  readonly sortOrderId?: number
  /** v3: first `_row_id` of the file's rows; inherited values are filled in by the reader. */
  readonly firstRowId?: number
  /** v3 deletion vectors, and position deletes scoped to one file. */
  readonly referencedDataFile?: string
  /** v3 deletion vectors: where the blob starts in the Puffin file, and its length, in bytes. */
  readonly contentOffset?: number
  readonly contentSizeInBytes?: number
}

export type EntryStatus = 'existing' | 'added' | 'deleted'

/** A manifest entry after inheritance: nulls are replaced from the manifest list as the spec says. */
export interface ManifestEntry {
  readonly status: EntryStatus
  readonly snapshotId: bigint
  /** Data sequence number. */
  readonly sequenceNumber: number
  readonly fileSequenceNumber: number
  readonly dataFile: DataFile
}

/** Summary of one partition field over a manifest (Iceberg spec, "Manifest Lists", field 507). */
export interface FieldSummary {
  readonly containsNull: boolean
  readonly containsNan?: boolean
  readonly lowerBound?: Uint8Array
  readonly upperBound?: Uint8Array
}

/** An entry of a manifest list. A missing count is unknown, not zero. */
export interface ManifestFile {
  readonly manifestPath: string
  readonly manifestLength: number
  readonly partitionSpecId: number
  readonly content: 'data' | 'deletes'
  readonly sequenceNumber: number
  readonly minSequenceNumber: number
  readonly addedSnapshotId: bigint
  readonly addedFilesCount?: number
  readonly existingFilesCount?: number
  readonly deletedFilesCount?: number
  readonly addedRowsCount?: number
  readonly existingRowsCount?: number
  readonly deletedRowsCount?: number
  readonly partitions?: readonly FieldSummary[]
  readonly keyMetadata?: Uint8Array
  readonly firstRowId?: number
}
