import type { FileIO } from '../iceberg/io/file-io.ts'
import type { DataFile } from '../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { PartitionTuple } from '../iceberg/partitioning/partitioning.ts'
import type { DeleteFileRef } from '../iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../iceberg/scan/scan.ts'
import type { Schema } from '../iceberg/schema/schema.ts'
import type { SortOrder } from '../iceberg/partitioning/sort-order.ts'
import type { NestedField } from '../iceberg/schema/types.ts'
import type { Curve } from '../domain/tables/strategies.ts'
import type { LaneLoad } from './fair-slots.ts'
import type { ComparedQuery, CompareLimits, QueryComparison, SampleBounds } from './query-comparison.ts'
import type { OutputSpec, DeleteOutputSpec, RowDeletesOutput, SideOutput, SideResult } from './output-spec.ts'
import type { EngineRunOptions } from './run-options.ts'
import type { QueryStep, RowCheck, RowCheckResult } from './row-checks.ts'
import type { RowIndex, RowIndexTask } from './row-index.ts'
import type { RewriteResult } from './rewrite-result.ts'
import type { RowGroupCopyResult, RowGroupCopyTask } from './row-group-copy.ts'
import type { RowMerge } from './row-merge.ts'
import type { ResultColumn } from './sql-sandbox.ts'

/** Rows in the order of a space-filling curve, so that rows with similar values in all of the columns are near each other. */
export interface Clustering {
  readonly curve: Curve
  /** Field ids of 1 to `MAX_CURVE_COLUMNS` different primitive columns outside of lists and maps. */
  readonly columnIds: readonly number[]
}

export interface RewriteTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Files to merge with the deletes that apply to each; all of one partition when `partition` is given. */
  readonly inputs: readonly FileScanTask[]
  /** The partition that all rows belong to under `output.partitionSpec`; undefined: computed from the rows. */
  readonly partition?: PartitionTuple
  readonly output: OutputSpec
  /** Order of the rows inside each new file; without one, neighbouring rows mostly stay together, without guarantee. */
  readonly sortOrder?: SortOrder
  /** Order of the rows over all new files of a partition; not together with {@link sortOrder}. */
  readonly clustering?: Clustering
  /** Whether to compare the rows read with the new files by value; see `RewriteResult.values`. Default false. */
  readonly verifyValues?: boolean
}

/** A data file of a table, and from which sequence number on deletes apply to it. */
export interface LiveDataFile {
  readonly dataFile: DataFile
  /** Data sequence number. */
  readonly sequenceNumber: number
}

/** Position delete files (format version 2) to be merged into new ones. */
export interface RewriteDeletesTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Parquet and Avro files of one spec and partition. */
  readonly deletes: readonly DeleteFileRef[]
  /** All live data files of the partition, and others that a delete file names. */
  readonly dataFiles: readonly LiveDataFile[]
  /** Data sequence number that the new files will have: the highest of the merged ones. */
  readonly sequenceNumber: number
  readonly output: DeleteOutputSpec
}

export interface RewriteDeletesResult {
  /** New delete files, ready for a manifest; none when all deletes were dangling. */
  readonly files: readonly DataFile[]
  /** Rows physically in the merged files. */
  readonly rowsRead: number
  /** Rows physically in the new files, read back from them. */
  readonly rowsWritten: number
  /** Rows of data files that the merged files delete, and the new ones: compared one by one. */
  readonly rowsDeleted: number
  /** Paths of dropped rows that refer to no live data file, or to a file that their delete file does not apply to. */
  readonly droppedPaths: readonly string[]
}

/** Equality deletes to be replaced by position deletes of the rows that they remove. */
export interface ConvertDeletesTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /**
   * Data files with the position deletes and vectors that apply to each, and the equality deletes to be replaced. Files of one partition
   * follow each other.
   */
  readonly inputs: readonly FileScanTask[]
  readonly output: RowDeletesOutput
}

export interface ConvertDeletesResult {
  /** New deletes, ready for a manifest, with their sequence numbers; none when the equality deletes remove no live row. */
  readonly deletes: readonly DeleteFileRef[]
  /** Rows physically in the data files. */
  readonly rowsRead: number
  /** Rows that equality deletes removed, and that the new deletes remove now. */
  readonly rowsDeleted: number
  /** Rows of the data files that no delete removes: counted before and after, and compared one by one. */
  readonly rowsLeft: number
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

/** Rows of one table, under the name that the query of an {@link AppendFromTask} uses. */
export interface QueryInput {
  /** Letters, digits and underscores; unique among the inputs whatever its case. */
  readonly name: string
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Columns to read, by field id at any depth; a type may be a promotion of what files hold. */
  readonly fields: readonly NestedField[]
  /** Names of the columns in the query: `c<field id>`, or the column names. */
  readonly columnsBy: 'id' | 'name'
  readonly inputs: readonly FileScanTask[]
  /** Only the first rows, of which each query then sees the same ones; default: all. */
  readonly maxRows?: number
  /**
   * Reads how rows changed, instead of rows: `inputs` are then `ChangeScanTask`s, and `fields` all columns of the table, which are
   * compared, with those of `CHANGE_COLUMNS`.
   */
  readonly changes?: ChangesRead
  /** Whether the query sees the rows in the order of `inputs`, of positions in a file, and of changes; default false. */
  readonly isOrdered?: boolean
  /** Whether the rows are only looked up: they do not count as rows that were read. Default false. */
  readonly isLookup?: boolean
}

/** Which changed rows belong together as an update; without both, there are only inserted and deleted rows. */
export interface ChangesRead {
  /** Field ids of top-level columns that identify a row. */
  readonly keyIds: readonly number[]
  /** Whether rows are identified by their row id (format version 3). */
  readonly isByRowId: boolean
}

export interface AppendFromTask {
  readonly inputs: readonly QueryInput[]
  /** Computed before everything else, in this order; default: none. */
  readonly steps?: readonly QueryStep[]
  /** Counted before anything is written; default: none. */
  readonly checks?: readonly RowCheck[]
  /** Written after the rows of the query; default: none. */
  readonly sides?: readonly SideOutput[]
  /** A SELECT over the inputs, whose result columns are those of an {@link AppendTask}. */
  readonly query: string
  /**
   * Values of secrets, bound as texts to the parameters (`$name`) of an untrusted query. Errors of a query with secrets say
   * nothing about its values, and the process that ran it ends.
   */
  readonly secrets?: Readonly<Record<string, string>>
  /** Whether the query returns the same rows each time: then it may run twice, without storing its rows. */
  readonly isRepeatable: boolean
  /**
   * Whether the query has parts that a user wrote. It then runs in isolation: without access to files, tables, network and
   * settings, with limits on memory, time and disk; `INVALID_ARGUMENT` when it fails on a value, `LIMIT_EXCEEDED` when it
   * exceeds a limit.
   */
  readonly isUntrusted?: boolean
  /** Where the new files go. */
  readonly io: FileIO
  readonly output: OutputSpec
}

/** A query whose rows are merged into a table by key. */
export interface RowMergeTask extends Omit<AppendFromTask, 'io' | 'output'> {
  /**
   * The table that the rows are for. The query returns a column `c<id>` for each top-level column, for `CHANGE_TYPE`, the kind of change
   * (NULL: `insert`), and for `CHANGE_ORDINAL`, by which rows follow each other (NULL: they are in order).
   */
  readonly metadata: TableMetadata
  /** Field ids of the top-level columns that identify a row. */
  readonly keyIds: readonly number[]
  /** Whether rows with the changes `delete` and `update_before` delete the row with their key; otherwise they are left out. */
  readonly appliesDeletes: boolean
}

export interface AppendFromResult {
  /** New data files, ready for a manifest. */
  readonly files: readonly DataFile[]
  /** Rows physically in the inputs. */
  readonly rowsRead: number
  /** Rows that the deletes of the inputs remove, counted independently of `rowsWritten`. */
  readonly rowsDeleted: number
  /** Rows physically in the outputs, counted from their footers. */
  readonly rowsWritten: number
  /** One per check of the task. If one of them is exceeded, there are no files. */
  readonly checks: readonly RowCheckResult[]
  /** One per side of the task; none if a check is exceeded. */
  readonly sides: readonly SideResult[]
}

export interface ReadTask {
  readonly io: FileIO
  readonly metadata: TableMetadata
  /** Schema to project to. */
  readonly schema: Schema
  readonly inputs: readonly FileScanTask[]
  readonly limit?: number
}

/** A query over rows, in SQL that a user wrote. */
export interface QueryTask {
  readonly inputs: readonly QueryInput[]
  /** One SELECT over the inputs that `SqlSandbox.check` has accepted, without a semicolon at its end. */
  readonly query: string
  /** The columns of its result, from `SqlSandbox.describe`. */
  readonly columns: readonly ResultColumn[]
  readonly bounds: QueryBounds
}

/** Limits of a {@link QueryTask} and of its result. */
export interface QueryBounds {
  readonly maxRows: number
  /** Of the rows as JSON; at least one row comes. */
  readonly maxBytes: number
  /** Longer texts are truncated; nested values become texts. */
  readonly maxTextLength: number
  readonly seconds: number
  readonly memoryBytes: number
}

/** Two queries of users over the same rows. */
export interface CompareTask {
  readonly inputs: readonly QueryInput[]
  readonly candidate: ComparedQuery
  /** Undefined: the candidate is compared with nothing. */
  readonly base?: ComparedQuery
  readonly limits: CompareLimits
  /** Up to this many values (rows times columns of both results), distinct values are counted exactly. */
  readonly maxExactValues: number
  readonly sample: SampleBounds
}

/** Rows as JSON-ready lists of values, in column order. */
export interface QueryAnswer {
  readonly rows: readonly (readonly unknown[])[]
  /** There are more rows, or values were truncated. */
  readonly truncated: boolean
  /** There are more rows. */
  readonly hasMore: boolean
}

/** How busy an engine is. */
export interface EngineLoad {
  readonly lanes: readonly LaneLoad[]
  /** Processes that run user SQL. */
  readonly workers: number
  /** Memory of the engine inside this process, without that of the workers. */
  readonly memoryBytes: number
  readonly memoryLimitBytes: number
}

/** Whether an engine works; `starting` while it is not known yet. */
export type EngineReadiness = 'ready' | 'starting'

/**
 * Executes work on rows. Rows enter JavaScript only in `readRows`, `queryRows` and the samples of
 * `compareQueries`. Errors are `IcebergError`:
 * `UNSUPPORTED` before anything is written (ORC, encrypted, types that cannot be written faithfully),
 * `CORRUPT_FILE`, `FILE_NOT_FOUND`, `NO_SPACE`, `CANCELLED`, `ENGINE_FAILED`. A failed run leaves no file behind.
 */
export interface Engine {
  readonly name: string
  rewrite(task: RewriteTask, options?: EngineRunOptions): Promise<RewriteResult>
  /**
   * Joins whole Parquet files by copying their row groups byte for byte under a new footer; refuses files that it would have to guess
   * about. `ROWS_NOT_CONSERVED` when a new file, read back, differs from what was copied.
   */
  copyRowGroups(task: RowGroupCopyTask, options?: EngineRunOptions): Promise<RowGroupCopyResult>
  /**
   * Merges position delete files, without rows that delete nothing: of other files, repeated, or behind the end of their file.
   * `ROWS_NOT_CONSERVED` when a reader of the new files would see other rows. `UNSUPPORTED` when it is unclear which file a path
   * refers to.
   */
  rewritePositionDeletes(task: RewriteDeletesTask, options?: EngineRunOptions): Promise<RewriteDeletesResult>
  /**
   * Finds the rows that equality deletes remove, and writes position deletes or vectors of them. Keys and positions stay in the engine,
   * which takes the keys in parts that fit into its memory. `ROWS_NOT_CONSERVED` when a reader of the new deletes would see other rows.
   */
  convertEqualityDeletes(task: ConvertDeletesTask, options?: EngineRunOptions): Promise<ConvertDeletesResult>
  /** Reads a finished rewrite once more, to find its rows in the new files; the caller closes the index. */
  openRowIndex(task: RowIndexTask, options?: EngineRunOptions): Promise<RowIndex>
  append(task: AppendTask, options?: EngineRunOptions): Promise<readonly DataFile[]>
  /** Writes the result of a query over the rows of data files, with deletes applied, as new data files of a table. */
  appendFrom(task: AppendFromTask, options?: EngineRunOptions): Promise<AppendFromResult>
  /**
   * Runs a query as {@link appendFrom} does and holds its rows, the last one of each key, to merge them into a table; the caller closes
   * the merge. Rows of ordered inputs keep their order through filters and projections.
   */
  openRowMerge(task: RowMergeTask, options?: EngineRunOptions): Promise<RowMerge>
  /**
   * Rows with deletes applied, in no particular order, as JSON-ready objects keyed by column name: 64-bit, decimals and
   * times as strings, bytes as hex.
   */
  readRows(task: ReadTask, options?: EngineRunOptions): AsyncIterable<Readonly<Record<string, unknown>>>
  /** Number of rows with deletes applied. */
  countRows(task: ReadTask, options?: EngineRunOptions): Promise<number>
  /**
   * Runs user SQL in isolation: without access to files, tables, network and settings. `INVALID_ARGUMENT` when it fails on a
   * value, `LIMIT_EXCEEDED` when it exceeds its limits; `DomainError` `RATE_LIMITED` and `ENGINE_BUSY` when too
   * many queries wait.
   */
  queryRows(task: QueryTask, options?: EngineRunOptions): Promise<QueryAnswer>
  /**
   * Runs two user queries over the same rows and compares their results as multisets of rows. Isolation, waiting and errors are
   * those of {@link queryRows}; a base that fails on a value is reported, not thrown. Nothing remains of the results.
   */
  compareQueries(task: CompareTask, options?: EngineRunOptions): Promise<QueryComparison>
  /** Throws `UNSUPPORTED` for a schema that it cannot write faithfully; absent where it writes every one. */
  requireWritable?(schema: Schema): Promise<void>
  /** How busy it is; undefined while it has not been used. */
  load?(): Promise<EngineLoad | undefined>
  /** Rejects when it does not work. */
  ping(): Promise<EngineReadiness>
  close(): Promise<void>
}
