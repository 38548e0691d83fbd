import type { FileIO } from '../iceberg/io/file-io.ts'
import type { DataFile } from '../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { SortOrder } from '../iceberg/partitioning/sort-order.ts'
import type { FileScanTask } from '../iceberg/scan/scan.ts'
import type { EngineRunOptions } from './run-options.ts'
import type { OutputSpec, RowDeletesOutput, SideResult } from './output-spec.ts'
import type { RowCheckResult } from './row-checks.ts'

/** The rows of a merge before they are compared with a table. */
export interface MergeRows {
  /** Rows physically in the inputs. */
  readonly rowsRead: number
  /** Rows that the deletes of the inputs remove. */
  readonly rowsDeleted: number
  /** Rows of the query, without those that are left out. */
  readonly rows: number
  /** Different keys of these rows: of several rows with one key, the last one counts. */
  readonly keys: number
  /** Rows without a value in a key column; nothing can be merged unless it is 0. */
  readonly nullKeys: number
  /** A value of `CHANGE_TYPE` that is no kind of change; nothing can be merged unless it is undefined. */
  readonly unknownChange: string | undefined
  /** One per check of the task. If one of them is exceeded, there are no rows. */
  readonly checks: readonly RowCheckResult[]
  /** One per side of the task, already written; none if a check is exceeded. */
  readonly sides: readonly SideResult[]
}

/** The table that rows are merged into. */
export interface MergeTarget {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Every live data file, with its bounds and the deletes that apply to it. */
  readonly inputs: readonly FileScanTask[]
  readonly output: OutputSpec
  readonly sortOrder?: SortOrder
  readonly deletes: RowDeletesOutput
}

/** New files of a merge, in their final locations. */
export interface MergedRows {
  /** The rows that are new or changed. */
  readonly files: readonly DataFile[]
  /** Position delete files or vectors of the rows that are changed or deleted. */
  readonly deletes: readonly DataFile[]
  /** Data files with rows that the new deletes remove. */
  readonly changedFiles: readonly FileScanTask[]
  readonly rowsInserted: number
  readonly rowsUpdated: number
  /** Keys whose rows are deleted and not written again. */
  readonly rowsDeleted: number
  /** Data files in which keys were searched; of the others, the bounds exclude every key. */
  readonly searchedFiles: number
}

/** The rows of a query, held by the engine until they are merged. */
export interface RowMerge {
  readonly rows: MergeRows
  /**
   * Finds the rows of a table with the same keys, and writes what replaces them. May be called again with a newer state of the table;
   * what the call before wrote stays. `ROWS_NOT_CONSERVED` when the new files do not have exactly the rows that they should have. A
   * failed call leaves no file behind.
   */
  mergeInto(target: MergeTarget, options?: EngineRunOptions): Promise<MergedRows>
  /** Removes everything that is held. */
  close(): Promise<void>
}
