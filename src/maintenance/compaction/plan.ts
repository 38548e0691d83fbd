import type { Clustering } from '../../engines/engine.ts'
import type { PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import type { GroupReason } from './file-selection.ts'
import type { CompactionOptions } from './options.ts'

/** Files that are rewritten together, into one partition when `partition` is given; `T` is how a plan knows a file. */
export interface CompactionGroup<T = FileScanTask> {
  /** Stable within a plan; part of the names of the files written. */
  readonly index: number
  /** Spec that the new files are written under: the table's current one. */
  readonly outputSpecId: number
  /** Partition of all rows; undefined for files of other specs, whose rows may belong to several. */
  readonly partition?: PartitionTuple
  /** Tells partitions apart; groups of one partition share it. */
  readonly partitionKey: string
  readonly inputs: readonly T[]
  readonly bytes: number
  readonly expectedOutputFiles: number
  readonly targetSplitBytes: number
  readonly reasons: readonly GroupReason[]
  /** Why the row groups are not copied; undefined: they are, if the footers of the files permit it. */
  readonly noCopyReason?: string
  /** Why the engine cannot rewrite the rows, so that row groups of any size are copied; undefined: it can. */
  readonly noRewriteReason?: string
  /** With how many other files each input overlaps, in the order of the inputs; undefined when rows keep their order. */
  readonly overlaps?: readonly number[]
}

/** A group that cannot be rewritten, with a readable reason. */
export interface SkippedGroup {
  readonly partitionKey: string
  readonly files: number
  readonly bytes: number
  readonly reason: string
}

export interface CompactionTotals {
  readonly groups: number
  readonly files: number
  readonly bytes: number
  readonly records: number
  /** Different delete files that apply to the files. */
  readonly deleteFiles: number
  /** Rows deleted by position deletes and deletion vectors, at most all rows; the effect of equality deletes is unknown. */
  readonly positionDeletes: number
  readonly expectedOutputFiles: number
}

export interface CompactionPlan<T = FileScanTask> {
  /** Snapshot that the plan starts from; undefined for a table without one. */
  readonly baseSnapshotId?: bigint
  readonly options: CompactionOptions
  readonly sortOrder?: SortOrder
  readonly clustering?: Clustering
  readonly groups: readonly CompactionGroup<T>[]
  /** Files that would be candidates, but exceed `max_bytes_to_rewrite`. */
  readonly beyondBudget: { readonly files: number; readonly bytes: number }
  readonly skipped: readonly SkippedGroup[]
  readonly totals: CompactionTotals
}
