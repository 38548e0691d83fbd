import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'
import { isNested, type NestedField, type Value } from '../../../iceberg/schema/types.ts'
import { valueFromBytes } from '../../../iceberg/values/binary.ts'

import type { DuckDbRun } from '../session/session.ts'
import { duckType } from '../session/type-mapping.ts'
import { valueLiteral } from '../session/value-literal.ts'

/** Files whose bounds one statement compares. */
const FILES_PER_STATEMENT = 2000

/**
 * The files that may have a row with one of the keys of a table with a column `c<id>` per key column: those in whose bounds, for each
 * key column, lies a value of the table. Files without readable bounds are kept.
 */
export async function filesWithKeys(
  run: DuckDbRun,
  tasks: readonly FileScanTask[],
  { table, columns }: { readonly table: string; readonly columns: readonly NestedField[] },
): Promise<readonly FileScanTask[]> {
  let left = tasks
  for (const column of columns) left = await filesWithValues(run, left, { table, column })
  return left
}

interface KeyColumn {
  readonly table: string
  readonly column: NestedField
}

async function filesWithValues(
  run: DuckDbRun,
  tasks: readonly FileScanTask[],
  { table, column }: KeyColumn,
): Promise<readonly FileScanTask[]> {
  const bounded = tasks.flatMap((task, at) => {
    const bounds = boundsOf(task.dataFile, column)
    return bounds === undefined ? [] : [`(${at}, ${bounds.lower}, ${bounds.upper})`]
  })
  const outside = new Set<number>()
  for (let from = 0; from < bounded.length; from += FILES_PER_STATEMENT) {
    const values = bounded.slice(from, from + FILES_PER_STATEMENT).join(', ')
    // the least key that is not below the lower bound decides
    const rows = await run.rows(`
      SELECT b.f FROM (VALUES ${values}) AS b(f, low, high)
      ASOF LEFT JOIN (SELECT DISTINCT c${column.id} AS v FROM ${table}) AS k ON b.low <= k.v
      WHERE k.v IS NULL OR k.v > b.high`)
    for (const { f } of rows) outside.add(Number(f))
  }
  return tasks.filter((_, at) => !outside.has(at))
}

/** The bounds as SQL; undefined when the file has none, or none that values of the type can be compared with. */
function boundsOf(
  { lowerBounds, upperBounds }: DataFile,
  { id, type }: NestedField,
): { readonly lower: string; readonly upper: string } | undefined {
  const [lower, upper] = [lowerBounds?.get(id), upperBounds?.get(id)]
  // Parquet and Java order uuids differently
  if (lower === undefined || upper === undefined || isNested(type) || type.kind === 'uuid') return undefined
  const read = (bytes: Uint8Array): Value | undefined => {
    try {
      return valueFromBytes(type, bytes)
    } catch {
      return undefined // written for another type, or damaged: the file is searched
    }
  }
  const [low, high] = [read(lower), read(upper)]
  if (low === undefined || high === undefined) return undefined
  const literal = (value: Value): string => `CAST(${valueLiteral(type, value)} AS ${duckType(type)})`
  return { lower: literal(low), upper: literal(high) }
}
