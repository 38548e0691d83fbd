import type { FileIO } from '../iceberg/io/file-io.ts'
import type { DataFile } from '../iceberg/manifest/manifest.ts'
import type { PartitionSpec, PartitionTuple } from '../iceberg/partitioning/partitioning.ts'
import type { Schema } from '../iceberg/schema/schema.ts'

/** Where and how output data files are written. */
export interface OutputSpec {
  readonly schema: Schema
  readonly partitionSpec: PartitionSpec
  readonly formatVersion: 1 | 2 | 3
  readonly targetFileSizeBytes: number
  /** Table properties (`write.parquet.*`, `write.metadata.metrics.*`). */
  readonly properties: Readonly<Record<string, string>>
  /** Location for the n-th new file of a partition. */
  readonly newDataLocation: (partition: PartitionTuple, index: number) => string
}

/** Where and how new position delete files of one partition are written. */
export interface DeleteOutputSpec {
  /** Of all data files that the deletes are about. */
  readonly specId: number
  readonly partition: PartitionTuple
  readonly targetFileSizeBytes: number
  /** Table properties (`write.delete.parquet.*`, which default to `write.parquet.*`). */
  readonly properties: Readonly<Record<string, string>>
  /** Location for the n-th new file. */
  readonly newLocation: (index: number) => string
}

/** Where and how new deletes of rows are written. */
export interface RowDeletesOutput {
  /** `vectors`: a vector of each data file, in one Puffin file (version 3). Otherwise position delete files (version 2). */
  readonly kind: 'vectors' | 'by-file' | 'by-partition'
  readonly targetFileSizeBytes: number
  /** Table properties (`write.delete.parquet.*`, which default to `write.parquet.*`). */
  readonly properties: Readonly<Record<string, string>>
  /** Location for the n-th new file of a run; the deletes in it are about data files of the partition of `file`. */
  readonly newLocation: (file: DataFile, index: number) => string
}

/** Rows that a task writes as data files of another table. */
export interface SideOutput {
  /** A SELECT over inputs and steps, whose result columns are those of an `AppendTask`. */
  readonly query: string
  readonly io: FileIO
  readonly output: OutputSpec
}

/** New data files of a {@link SideOutput}. */
export interface SideResult {
  readonly files: readonly DataFile[]
  /** Rows physically in the files, counted from their footers. */
  readonly rows: number
}
