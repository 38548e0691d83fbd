import type { Schema } from '../iceberg/schema.ts'
import type { NestedField } from '../iceberg/types.ts'
import { mapColumns } from './column-mapping.ts'
import type { ColumnPair, SourceColumn } from './column-mapping.ts'
import type { AskedColumn } from './graph/column-uses.ts'

/** One source of a batch as the query reads it. */
export interface CompiledInput {
  /** Name of the relation in the query. */
  readonly name: string
  readonly fields: readonly NestedField[]
  readonly columnsBy: 'id' | 'name'
}

/** A query for the schemas that source and sink have now. */
export interface CompiledBatch {
  /** One per source, in the order of the pipeline's sources. */
  readonly inputs: readonly CompiledInput[]
  /** A SELECT over the inputs with one column `c<field id>` per top-level column of the sink. */
  readonly query: string
  /** Whether it gives the same rows whenever it is run. */
  readonly isRepeatable: boolean
  /** Whether every row of the sources becomes exactly one row of the sink; the batch then counts them. */
  readonly isOneToOne: boolean
  /** Whether it has parts that a user wrote; default false. */
  readonly isUntrusted?: boolean
  /** Which columns belong together from now on, whatever they are called later; empty when that means nothing. */
  readonly pairs: readonly ColumnPair[]
  /** Columns of the sources that the sink lacks; a sink that follows its source gets them, else the pipeline waits. */
  readonly missing: readonly SourceColumn[]
  /** Why the batch cannot be written, for people; empty when it can. */
  readonly problems: readonly string[]
}

export interface BatchSchemas {
  /** One per source, in the order of the pipeline's sources. */
  readonly sources: readonly Schema[]
  readonly sink: Schema
  /** What earlier batches paired; see {@link CompiledBatch.pairs}. */
  readonly known: readonly ColumnPair[]
}

/** What a pipeline does between its sources and its sink. Called once per pair of schemas, not once per batch. */
export interface BatchQuery {
  /** Whether it has parts that a user wrote; default false. */
  readonly isUntrusted?: boolean
  compile(schemas: BatchSchemas): CompiledBatch | Promise<CompiledBatch>
  /** Whether the query reads a column of a source; it must not be renamed or dropped while the pipeline lives. */
  usesColumn?(column: AskedColumn): Promise<boolean>
}

const INPUT = 'source_rows'

/** Copies every row of one source; columns are matched as {@link mapColumns} says. */
export const copyQuery: BatchQuery = {
  compile({ sources, sink, known }) {
    const [source] = sources
    if (source === undefined || sources.length > 1) throw new Error('a copy has one source')
    const { reads, sinkIds, pairs, missing, problems } = mapColumns(source, sink, known)
    const columns = reads.map(({ id }, at) => `c${id} AS c${sinkIds[at]}`)
    return {
      inputs: [{ name: INPUT, fields: reads, columnsBy: 'id' }],
      query: `SELECT ${columns.join(', ')} FROM ${INPUT}`,
      isRepeatable: true,
      isOneToOne: true,
      pairs,
      missing,
      problems,
    }
  },
}
