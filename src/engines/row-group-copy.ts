import type { FileIO } from '../iceberg/io/file-io.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { PartitionTuple } from '../iceberg/partitioning/partitioning.ts'
import type { FileScanTask } from '../iceberg/scan/scan.ts'
import type { RewriteResult } from './rewrite-result.ts'
import type { OutputSpec } from './output-spec.ts'

/** Whole Parquet files to be joined without decoding their pages. */
export interface RowGroupCopyTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Files of one partition of `output.partitionSpec` to which no delete applies, with all column metrics that the manifests have. */
  readonly inputs: readonly FileScanTask[]
  readonly partition: PartitionTuple
  readonly output: OutputSpec
  /** Number of the new files, at least 1. */
  readonly outputFiles: number
  /** Sizes of new files in bytes; the least one counts only for several files. */
  readonly fileSizes: { readonly min: number; readonly max: number }
  /** Row groups with fewer bytes are not copied. */
  readonly minRowGroupBytes: number
  /** Whether to read what was copied back from the new files, and to compare it. The footers are always read back. */
  readonly verifyBytes: boolean
}

/** `refused`: the files need a rewrite, and `reason` says why; nothing was changed. */
export type RowGroupCopyResult =
  | { readonly kind: 'copied'; readonly result: RewriteResult }
  | { readonly kind: 'refused'; readonly reason: string }
