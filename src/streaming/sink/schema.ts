import type { Catalog } from '../../catalog/catalog.ts'
import type { SchemaChange } from '../../domain/pipelines/modes.ts'
import { commitTable } from '../../catalog/commit-table.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { addColumn } from '../../iceberg/update/apply/schema-update.ts'
import type { BatchQuery, CompiledBatch } from './batch-query.ts'
import { type BatchSchema, batchSchema, type RowSchemas, withoutDropped } from '../source/dropped-columns.ts'
import type { ColumnPair } from './column-mapping.ts'
import { IncompatibleSchemas } from '../pipeline-errors.ts'

/** Table property of a sink that a pipeline created: new columns of the source are added to it. */
export const FOLLOWS_SOURCE = 'lockhouse.follows-source'

export interface FitRequest {
  readonly catalog: Catalog
  readonly query: BatchQuery
  readonly sources: readonly Table[]
  readonly sink: Table
  /** The tables of `BatchQuery.others`, by name; default: none. */
  readonly others?: ReadonlyMap<string, Table>
  readonly known: readonly ColumnPair[]
  /** The schemas that the rows were written with, one entry per source; absent: read what the sources have now. */
  readonly rows?: readonly RowSchemas[]
}

/** A query that fits a sink. */
export interface FittedBatch {
  readonly compiled: CompiledBatch
  /** The sink, with its new columns. */
  readonly sink: Table
  /** The tables of `BatchQuery.others`, by name. */
  readonly others: ReadonlyMap<string, Table>
}

/** Why no batch can be written for these schemas; undefined when it can. */
export function compileProblem(
  { missing, problems }: CompiledBatch,
  sink: Table,
  onSchemaChange?: SchemaChange,
): string | undefined {
  const reasons = [...problems]
  if (missing.length > 0 && (onSchemaChange ?? usualChange(sink)) === 'fail') {
    const names = missing.map(({ path }) => path).join(', ')
    reasons.push(`the sink has no column ${names} of the source: add it to ${formatIdentifier(sink.identifier)}`)
  }
  return reasons.length === 0 ? undefined : reasons.join('; ')
}

/**
 * Compiles the query for the current tables, and for columns that the sources dropped after the rows were written. New columns of a source are added to the sink as the query says. Throws
 * `IncompatibleSchemas` when rows cannot be written without losing values.
 */
export async function fitQuery(request: FitRequest): Promise<FittedBatch> {
  const compiled = await compile(request)
  const { onSchemaChange } = request.query
  const problem = compileProblem(compiled, request.sink, onSchemaChange)
  if (problem !== undefined) throw new IncompatibleSchemas(problem)
  const { others = new Map<string, Table>() } = request
  if (compiled.missing.length === 0 || onSchemaChange === 'ignore') return { compiled, sink: request.sink, others }
  for (const { path, field } of compiled.missing) {
    await commitTable(request.catalog, request.sink.identifier, async (fresh) => {
      const { requirements, updates } = addColumn(fresh.metadata, {
        name: path,
        type: field.type,
        ...(field.doc === undefined ? {} : { doc: field.doc }),
      })
      return { requirements, updates, writtenFiles: [] }
    })
  }
  const sink = await request.catalog.loadTable(request.sink.identifier)
  const again = await compile({ ...request, sink })
  const rest = compileProblem(again, sink, onSchemaChange) ?? again.missing.map(({ path }) => path).join(', ')
  if (rest !== '') throw new IncompatibleSchemas(`the sink does not fit its source: ${rest}`)
  return { compiled: again, sink, others }
}

async function compile(request: FitRequest): Promise<CompiledBatch> {
  const sink = currentSchema(request.sink.metadata)
  const wide = batchSchemas(request)
  const compiled = await compileFor(request, wide)
  if (compiled.problems.length === 0 || wide.every(({ dropped }) => dropped.length === 0)) return compiled
  // a query that passes all columns on does not fit a sink that lacks the dropped ones
  const names = new Set(sink.fields.map(({ name }) => name.toLowerCase()))
  const inSink = wide.map((schema) => withoutDropped(schema, ({ name }) => names.has(name.toLowerCase())))
  return compileFor(request, inSink)
}

const NO_ROWS: RowSchemas = { appended: [], others: [], hasUnknown: false }

/** The columns of each source that a batch reads. Throws `IncompatibleSchemas`, see {@link batchSchema}. */
export function batchSchemas({ sources, rows, known }: Omit<FitRequest, 'catalog' | 'query' | 'sink'>) {
  const paired = new Set(known.map(([sourceId]) => sourceId))
  return sources.map(({ metadata }, at) => batchSchema(metadata, rows?.[at] ?? NO_ROWS, paired))
}

async function compileFor(
  { query, sink, others, known }: FitRequest,
  sources: readonly BatchSchema[],
): Promise<CompiledBatch> {
  const compiled = await query.compile({
    sources: sources.map(({ schema }) => schema),
    sink: currentSchema(sink.metadata),
    ...(others === undefined ? {} : { others: schemasOf(others) }),
    known,
  })
  const dropped = new Set(sources.flatMap((source) => source.dropped))
  return { ...compiled, missing: compiled.missing.filter(({ field }) => !dropped.has(field.id)) }
}

/** The current schemas of tables. */
export function schemasOf(tables: ReadonlyMap<string, Table>): ReadonlyMap<string, Schema> {
  return new Map([...tables].map(([name, { metadata }]) => [name, currentSchema(metadata)]))
}

function usualChange({ metadata }: Table): SchemaChange {
  return metadata.properties[FOLLOWS_SOURCE] === 'true' ? 'add' : 'fail'
}
