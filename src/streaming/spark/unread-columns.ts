import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { currentSchema, schemaById } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { fieldById } from '../../iceberg/schema/schema.ts'
import { touchedColumn } from '../../maintenance/evolve.ts'
import type { SparkQueryTable } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import type { ColumnPair } from '../sink/column-mapping.ts'
import { batchSchemas } from '../sink/schema.ts'
import { type BatchSchema, withoutDropped } from '../source/dropped-columns.ts'
import type { ReadPosition } from '../source/history.ts'
import { unreadSchemas } from '../source/unread-schemas.ts'

/** A pipeline that Spark is about to run. */
export interface SparkReading {
  readonly query: BatchQuery
  readonly sources: readonly Table[]
  readonly sink: Table
  /** How far the sources are read, one entry per source; undefined: the pipeline begins to read now. */
  readonly positions: readonly (ReadPosition | undefined)[]
  readonly known: readonly ColumnPair[]
  /** The sources as the pipeline began, if it has not read anything yet. */
  readonly began?: readonly SparkQueryTable[] | undefined
}

/**
 * Why Spark would write null for values that unread rows have: Spark reads all rows with the present columns of a table,
 * and the table has dropped a column that the query needs. Undefined when that is not so. Throws `IncompatibleSchemas`
 * when not even the embedded engine can read the rows.
 */
export async function droppedColumnProblem(reading: SparkReading): Promise<string | undefined> {
  const { sources, positions, known, began } = reading
  const rows = sources.map((table, at) => unreadSchemas(table, positions[at]))
  const wide = batchSchemas({ sources, rows, known })
  for (const [at, { metadata, identifier }] of sources.entries()) {
    const before = began?.[at] && schemaById(metadata, began[at].schemaId)
    const schema = wide[at]
    const dropped = schema?.dropped.filter((id) => before === undefined || fieldById(before, id) !== undefined) ?? []
    for (const id of dropped) {
      if (schema === undefined || !(await needs(reading, { wide, at, id }))) continue
      const { name } = touchedColumn(schema.schema, 'drop_column', id)
      const table = formatIdentifier(identifier)
      return `${table} has dropped the column ${name}, and Spark would write null for its values in rows that are not read yet`
    }
  }
  return undefined
}

interface Dropped {
  readonly wide: readonly BatchSchema[]
  /** The source. */
  readonly at: number
  readonly id: number
}

async function needs({ query, sources, sink, known }: SparkReading, { wide, at, id }: Dropped): Promise<boolean> {
  const source = sources[at]
  const schema = wide[at]?.schema
  if (source === undefined || schema === undefined) return false
  if (query.usesColumn !== undefined) {
    const { path, topLevelId } = touchedColumn(schema, 'drop_column', id)
    const isUsed = await query.usesColumn({ table: formatIdentifier(source.identifier), path })
    const column = schema.fields.find((field) => field.id === topLevelId)
    return isUsed && !(await passesOn({ query, sink, known }, { wide, column: column?.name ?? '' }))
  }
  const schemas = { sources: wide.map((one) => one.schema), sink: currentSchema(sink.metadata), known }
  return (await query.compile(schemas)).pairs.some(([sourceId]) => sourceId === id)
}

/**
 * Whether a graph that reads a dropped column only passes it on, as a copy of all columns does, to a sink that lacks it: then
 * the graph also fits the present columns, and no value is lost.
 */
async function passesOn(
  { query, sink, known }: Pick<SparkReading, 'query' | 'sink' | 'known'>,
  { wide, column }: { readonly wide: readonly BatchSchema[]; readonly column: string },
): Promise<boolean> {
  const target = currentSchema(sink.metadata)
  if (target.fields.some(({ name }) => name.toLowerCase() === column.toLowerCase())) return false
  const sources = wide.map((one) => withoutDropped(one, () => false).schema)
  return (await query.compile({ sources, sink: target, known })).problems.length === 0
}
