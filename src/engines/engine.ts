import type { FileIO } from '../iceberg/io/file-io.ts'
import type { DataFile } from '../iceberg/manifest.ts'
import type { TableMetadata } from '../iceberg/metadata.ts'
import type { PartitionSpec, PartitionTuple } from '../iceberg/partitioning.ts'
import type { FileScanTask } from '../iceberg/scan.ts'
import type { Schema } from '../iceberg/schema.ts'
import type { SortOrder } from '../iceberg/sort-order.ts'
import type { NestedField } from '../iceberg/types.ts'
import type { ResultColumn } from './sql-sandbox.ts'

export interface EngineProgress {
  readonly rowsDone: number
  readonly rowsTotal: number
}

export interface EngineRunOptions {
  /** The user in whose name it is done; where work has to wait, users take turns. */
  readonly owner?: string
  /** Aborting stops the work within moments; everything written so far is removed; rejects with `CANCELLED`. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: EngineProgress) => void
}

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

export interface RewriteTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Files to merge with the deletes that apply to each; all of one partition when `partition` is given. */
  readonly inputs: readonly FileScanTask[]
  /** The partition that all rows belong to under `output.partitionSpec`; undefined: computed from the rows. */
  readonly partition?: PartitionTuple
  readonly output: OutputSpec
  /** Order of the rows inside each new file; without one, rows that were together mostly stay so, with no promise. */
  readonly sortOrder?: SortOrder
  /** Whether to compare the rows read with the new files by value; see {@link RewriteResult.values}. Default false. */
  readonly verifyValues?: boolean
}

/** The rows that a rewrite had to write, compared by value with what its new files give back. */
export interface ValueComparison {
  readonly isEqual: boolean
  /** Names of the columns that were compared, row lineage included. */
  readonly columns: readonly string[]
  /** When not equal: the columns that differ. None: each column has its values, but not in the same rows. */
  readonly differing: readonly string[]
  readonly milliseconds: number
}

export interface RewriteResult {
  /** New data files, ready for a manifest; content `data`, spec and partition set. */
  readonly files: readonly DataFile[]
  /** Rows physically in the inputs. */
  readonly rowsRead: number
  /** Rows removed by position deletes, deletion vectors and equality deletes, counted independently of `rowsWritten`. */
  readonly rowsDeleted: number
  /** Rows physically in the outputs, counted from their footers. */
  readonly rowsWritten: number
  /** Present when the task asked for it. The files are in their places whatever it says: the caller decides. */
  readonly values?: ValueComparison
}

export interface AppendTask {
  readonly io: FileIO
  /**
   * A SELECT in the engine's SQL whose result columns are named by field id (`c<id>`), one per top-level column of
   * `output.schema`. Only for trusted callers (demo lakehouse, tests, pipelines).
   */
  readonly query: string
  readonly output: OutputSpec
}

/** Rows of one table, under the name by which the query of an {@link AppendFromTask} calls them. */
export interface QueryInput {
  /** Letters, digits and underscores; unique among the inputs whatever its case. */
  readonly name: string
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Columns to read, by field id at any depth; a type may be a promotion of what files hold. */
  readonly fields: readonly NestedField[]
  /** What the query calls the columns: `c<field id>`, or their names. */
  readonly columnsBy: 'id' | 'name'
  readonly inputs: readonly FileScanTask[]
}

export interface AppendFromTask {
  readonly inputs: readonly QueryInput[]
  /** A SELECT over the inputs, whose result columns are those of an {@link AppendTask}. */
  readonly query: string
  /** Whether the query gives the same rows whenever it is run: then it may run twice, and nothing is kept between. */
  readonly isRepeatable: boolean
  /**
   * Whether the query has parts that a user wrote. It then runs on its own: it reaches no file, table, network or
   * setting, and memory, time and disk are bounded; `INVALID_ARGUMENT` when it fails on a value, `LIMIT_EXCEEDED` when
   * it takes more than it may.
   */
  readonly isUntrusted?: boolean
  /** Where the new files go. */
  readonly io: FileIO
  readonly output: OutputSpec
}

export interface AppendFromResult {
  /** New data files, ready for a manifest. */
  readonly files: readonly DataFile[]
  /** Rows physically in the inputs. */
  readonly rowsRead: number
  /** Rows that the deletes of the inputs take away, counted independently of `rowsWritten`. */
  readonly rowsDeleted: number
  /** Rows physically in the outputs, counted from their footers. */
  readonly rowsWritten: number
}

export interface ReadTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Schema to project to. */
  readonly schema: Schema
  readonly inputs: readonly FileScanTask[]
  readonly limit?: number
}

/** A question about rows, in SQL that a user wrote. */
export interface QueryTask {
  readonly inputs: readonly QueryInput[]
  /** One SELECT over the inputs that `SqlSandbox.check` has let pass, without a semicolon at its end. */
  readonly query: string
  /** The columns of its result, as `SqlSandbox.describe` tells them. */
  readonly columns: readonly ResultColumn[]
  readonly bounds: QueryBounds
}

/** What a {@link QueryTask} may take, and how much of its result is wanted. */
export interface QueryBounds {
  readonly maxRows: number
  /** Of the rows as JSON; at least one row comes. */
  readonly maxBytes: number
  /** Longer texts are cut; nested values become texts. */
  readonly maxTextLength: number
  readonly seconds: number
  readonly memoryBytes: number
}

/** Rows as JSON-ready lists of values, in the order of the columns; `truncated`: there are more, or values were cut. */
export interface QueryAnswer {
  readonly rows: readonly (readonly unknown[])[]
  readonly truncated: boolean
}

/**
 * Executes work on rows. Rows never enter JavaScript but in `readRows` and `queryRows`. Errors are `IcebergError`:
 * `UNSUPPORTED` before anything is written (ORC, encrypted, types that cannot be written faithfully),
 * `CORRUPT_FILE`, `FILE_NOT_FOUND`, `NO_SPACE`, `CANCELLED`, `ENGINE_FAILED`. A failed run leaves no file behind.
 */
export interface Engine {
  readonly name: string
  rewrite(task: RewriteTask, options?: EngineRunOptions): Promise<RewriteResult>
  append(task: AppendTask, options?: EngineRunOptions): Promise<readonly DataFile[]>
  /** Writes what a query makes of the rows of data files, with their deletes applied, as new data files of a table. */
  appendFrom(task: AppendFromTask, options?: EngineRunOptions): Promise<AppendFromResult>
  /**
   * Rows with deletes applied, in no particular order, as JSON-ready objects keyed by column name: 64-bit, decimals and
   * times as strings, bytes as hex.
   */
  readRows(task: ReadTask, options?: EngineRunOptions): AsyncIterable<Readonly<Record<string, unknown>>>
  /** Number of rows with deletes applied. */
  countRows(task: ReadTask, options?: EngineRunOptions): Promise<number>
  /**
   * Runs SQL of a user on its own: it reaches no file, table, network or setting. `INVALID_ARGUMENT` when it fails on a
   * value, `LIMIT_EXCEEDED` when it takes more than its bounds; `DomainError` `RATE_LIMITED` and `ENGINE_BUSY` when too
   * many queries wait.
   */
  queryRows(task: QueryTask, options?: EngineRunOptions): Promise<QueryAnswer>
  /** Throws `UNSUPPORTED` for a schema that it cannot write faithfully; absent where it writes every one. */
  requireWritable?(schema: Schema): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}
