import type { ResultColumn, SqlSandbox } from '../../../engines/sql-sandbox.ts'
import { isNested, type Type } from '../../../iceberg/schema/types.ts'
import { Refusal } from './refusal.ts'
import { foldName, type SparkRelation } from './relations.ts'

/**
 * The rows of a node under the names that its columns have in the embedded engine. Throws a `Refusal` when a translation has
 * other columns or types than the embedded engine: then it would not give the same rows.
 */
export function requireSameColumns(
  rows: SparkRelation,
  described: readonly ResultColumn[],
  sandbox: SqlSandbox,
): SparkRelation {
  if (rows.columns.length !== described.length) throw new Refusal('Spark would have other columns')
  const columns = rows.columns.map((column, at) => {
    const { name = '', engineType = '' } = described[at] ?? {}
    if (column.name !== undefined && foldName(column.name) !== foldName(name)) {
      throw new Refusal(`Spark would have a column ${column.name} in the place of ${name}`)
    }
    const expected = engineTypeOf(column.type, sandbox)
    if (expected !== undefined && expected !== engineType) {
      throw new Refusal(`column ${name} would be ${expected} in Spark, not ${engineType}: CAST it`)
    }
    return { ...column, name }
  })
  return { ...rows, columns }
}

/** Nested columns are never computed, and the engine names their types in more than one way. */
function engineTypeOf(type: Type, sandbox: SqlSandbox): string | undefined {
  if (isNested(type)) return undefined
  return sandbox.columnsOf([{ id: 0, name: 'c', required: false, type }])[0]?.engineType
}
