import type { ReadMode, SchemaChange, SinkWrite } from '../../domain/pipelines/modes.ts'
import type { ChangesRead } from '../../engines/engine.ts'
import type { QueryStep, RowCheck } from '../../engines/row-checks.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'
import type { ColumnPair, SourceColumn } from './column-mapping.ts'

/** One source of a batch as the query reads it. */
export interface CompiledInput {
  /** Name of the relation in the query. */
  readonly name: string
  readonly fields: readonly NestedField[]
  readonly columnsBy: 'id' | 'name'
  /** For a source whose changes are read; `fields` then include those of `CHANGE_COLUMNS`. */
  readonly changes?: ChangesRead
}

/** How the rows of a batch are merged into the sink. */
export interface CompiledMerge {
  /** Field ids of the columns of the sink that identify a row. */
  readonly keyIds: readonly number[]
  /** Whether rows that are deleted leave the sink, too. */
  readonly appliesDeletes: boolean
}

/** A table whose rows the query looks up: all rows, as they are when the batch starts. */
export interface CompiledLookup extends CompiledInput {
  readonly table: string
}

/** A count of rows of one node, with what the number means. */
export interface NodeCheck extends RowCheck {
  readonly nodeId: string
  /**
   * `expectation`: rows that fail the expectation. `dropped` and `diverted`: rows of the node that are left out, or go to another
   * table. `duplicates`: keys that a lookup table has more than once.
   */
  readonly counts: 'expectation' | 'dropped' | 'diverted' | 'duplicates'
  /** The name of the expectation, else the table of the lookup, else the node. */
  readonly name: string
}

/** The batch that diverts rows. */
export interface DivertStamp {
  readonly pipelineId: string
  readonly batchId: number
  readonly at: Date
}

/** Rows that go to another table than the sink. */
export interface CompiledDivert {
  readonly nodeId: string
  readonly table: string
  /** A SELECT with one column `c<field id>` per top-level column of the table. */
  readonly query: (stamp: DivertStamp) => string
}

/** The tables that a query uses besides its sources and its sink, each once. */
export interface OtherTables {
  readonly lookups: readonly string[]
  readonly diverts: readonly string[]
}

/** A query compiled for the current schemas of sources and sink. */
export interface CompiledBatch {
  /** One per source, in the order of the pipeline's sources. */
  readonly inputs: readonly CompiledInput[]
  /** Tables that the query reads besides its sources; default: none. */
  readonly lookups?: readonly CompiledLookup[]
  /** The rows of the sink as they are when the batch starts; default: not read. */
  readonly sinkRows?: CompiledInput
  /** What is computed once before the query; default: nothing. */
  readonly steps?: readonly QueryStep[]
  readonly checks?: readonly NodeCheck[]
  readonly diverts?: readonly CompiledDivert[]
  /** A SELECT over the inputs with one column `c<field id>` per top-level column of the sink, and for `CHANGE_TYPE` with {@link merge}. */
  readonly query: string
  /** Undefined: the rows are appended. */
  readonly merge?: CompiledMerge
  /** Values of secrets, bound to the parameters (`$name`) of the query when it runs; default: none. */
  readonly secrets?: Readonly<Record<string, string>>
  /** Whether it returns the same rows in every run. */
  readonly isRepeatable: boolean
  /** Whether every row of the sources becomes exactly one row of the sink; the batch then counts them. */
  readonly isOneToOne: boolean
  /** Whether it contains SQL written by a user; default false. */
  readonly isUntrusted?: boolean
  /** Which columns stay paired even after a rename; empty when that does not apply. */
  readonly pairs: readonly ColumnPair[]
  /** Columns of the sources that the sink lacks; see {@link BatchQuery.onSchemaChange}. */
  readonly missing: readonly SourceColumn[]
  /** Readable reasons why the batch cannot be written; empty when it can. */
  readonly problems: readonly string[]
}

export interface BatchSchemas {
  /** One per source, in the order of the pipeline's sources. */
  readonly sources: readonly Schema[]
  readonly sink: Schema
  /** The schemas of {@link BatchQuery.others}, by name; default: none. */
  readonly others?: ReadonlyMap<string, Schema>
  /** What earlier batches paired; see {@link CompiledBatch.pairs}. */
  readonly known: readonly ColumnPair[]
}

/** A query in Spark's SQL over the streams of its sources (`streamName`), with the columns of the sink by name. */
export interface SparkBatch {
  readonly query: string
  /** Readable reasons why Spark cannot run it, or would not give the same rows; empty when it can. */
  readonly problems: readonly string[]
}

/** A column of a table that is about to change. */
export interface ChangedColumn {
  readonly table: string
  /** Names of the enclosing columns and of the column itself, outermost first. */
  readonly path: readonly string[]
}

/** What a pipeline does between its sources and its sink. Called once per pair of schemas, not once per batch. */
export interface BatchQuery {
  /** Whether it has parts that a user wrote; default false. */
  readonly isUntrusted?: boolean
  /** One per source, in the order of the pipeline's sources; default: appends. */
  readonly reads?: readonly ReadMode[]
  /** Default: append. */
  readonly write?: SinkWrite
  /** What happens to {@link CompiledBatch.missing}; default: `add` for a sink that a pipeline created, else `fail`. */
  readonly onSchemaChange?: SchemaChange | undefined
  /** Default: none. */
  readonly others?: OtherTables
  /** Whether rows are compared with those of the sink before they are appended; default false. */
  readonly comparesWithSink?: boolean
  /** Replaces a text that contains a secret of the query; for messages of errors. */
  readonly hide?: (text: string) => string
  /** Throws `PipelineStopped` when the query can never run again. */
  requireRunnable?(): void
  compile(schemas: BatchSchemas): CompiledBatch | Promise<CompiledBatch>
  /** The same query for Spark. Absent: it cannot run there. */
  sparkBatch?(schemas: BatchSchemas): SparkBatch | Promise<SparkBatch>
  /** Whether the query reads a column of a source; it must not be renamed or dropped while the pipeline lives. */
  usesColumn?(column: ChangedColumn): Promise<boolean>
}
