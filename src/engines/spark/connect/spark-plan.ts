/**
 * A SQL text and the values of its parameters (`:name`); values never become a part of the text. Spark 4.1 with Iceberg's SQL
 * extensions does not bind them: the text then fails with `UNBOUND_SQL_PARAMETER`, before it has an effect.
 */
export interface SparkSql {
  readonly query: string
  readonly args?: Readonly<Record<string, SparkLiteral>>
}

/** A value of a parameter: `number` is INT (32 bits), `bigint` is BIGINT. */
export type SparkLiteral =
  | string
  | boolean
  | number
  | bigint
  | null
  | { readonly double: number }
  /** TIMESTAMP, microseconds since 1970-01-01T00:00:00Z. */
  | { readonly timestampMicros: bigint }

/** A stream from one or more tables into an Iceberg table. */
export interface SparkStream {
  /** Name of the query in Spark. */
  readonly name: string
  readonly source: StreamSource
  /** Parts of the sink's name, catalog first. */
  readonly sink: readonly string[]
  /** Where Spark keeps its checkpoint. Only one stream may use it. */
  readonly checkpointLocation: string
  /** Milliseconds between batches. */
  readonly triggerMs: number
  /** Whether a task keeps a file open per partition; needed when rows do not come in the order of the partitions. */
  readonly fanout: boolean
  /** Further options of the sink. */
  readonly options?: Readonly<Record<string, string>>
}

/** A table as it is, or a query over named tables. */
export type StreamSource = TableStream | QueryStream

/** A table that is read as a stream. */
export interface TableStream {
  /** Parts of its name, catalog first. */
  readonly table: readonly string[]
  /** Read options, such as `streaming-max-files-per-micro-batch`. */
  readonly options: Readonly<Record<string, string>>
}

/** A query in Spark's SQL, whose tables are the keys of `streams`. */
export interface QueryStream {
  readonly sql: SparkSql
  readonly streams: Readonly<Record<string, TableStream>>
}
