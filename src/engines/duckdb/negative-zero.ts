import type { NestedField, Type } from '../../iceberg/types.ts'

import type { DuckDbRun } from './duckdb-session.ts'
import { leafColumns } from './output-layout.ts'
import { quoteName, textList } from './sql-text.ts'
import { structMembers } from './type-mapping.ts'

/**
 * The columns of new files in which a -0.0 may have become 0.0, or the other way round: DuckDB's Parquet writer takes
 * both zeros for one dictionary entry and writes whichever came first for both. Doubtful is a float or double with a
 * dictionary and a range that has zero in it; its footers tell, so most columns cost nothing.
 */
export async function doubtfulZeros(
  run: DuckDbRun,
  paths: readonly string[],
  fields: readonly NestedField[],
): Promise<readonly NestedField[]> {
  const leaves = leafColumns(fields)
  const floating = leaves.flatMap(({ field: { type } }, at) =>
    type.kind === 'float' || type.kind === 'double' ? [at] : [],
  )
  if (floating.length === 0 || paths.length === 0) return []
  const found = await run.rows(`
    SELECT DISTINCT column_id FROM parquet_metadata(${textList(paths)})
    WHERE column_id IN (${floating.join(', ')}) AND dictionary_page_offset IS NOT NULL
      AND coalesce(try_cast(stats_min_value AS DOUBLE) <= 0, true) AND coalesce(try_cast(stats_max_value AS DOUBLE) >= 0, true)`)
  const doubtful = new Set(found.map((row) => leaves[Number(row['column_id'])]?.topLevelId))
  return fields.filter((field) => doubtful.has(field.id))
}

/** Whether rows (a SELECT with column `c<id>` for each field) hold a -0.0 in any float or double, nested ones included. */
export async function holdNegativeZero(run: DuckDbRun, rows: string, fields: readonly NestedField[]): Promise<boolean> {
  const tests = fields.flatMap((field) => negativeZeroTest(field.type, `s.c${field.id}`, 0) ?? [])
  if (tests.length === 0) return false
  const anywhere = tests.map((test) => `coalesce(bool_or(${test}), false)`).join(' OR ')
  const [found] = await run.rows(`SELECT ${anywhere} AS found FROM (${rows}) AS s`)
  return found?.['found'] === true
}

/** SQL that is true when a value holds a -0.0; undefined when its type cannot. `depth` keeps lambda parameters apart. */
function negativeZeroTest(type: Type, value: string, depth: number): string | undefined {
  switch (type.kind) {
    case 'float':
    case 'double':
      return `(${value} = 0 AND signbit(${value}))`
    case 'struct':
      return anyOf(
        structMembers(type.fields).map(([name, { type: inner }]) =>
          negativeZeroTest(inner, `(${value}).${quoteName(name)}`, depth),
        ),
      )
    case 'list':
      return listTest(type.element, value, depth)
    case 'map':
      return anyOf([
        listTest(type.key, `map_keys(${value})`, depth),
        listTest(type.value, `map_values(${value})`, depth),
      ])
    default:
      return undefined
  }
}

function listTest(element: Type, list: string, depth: number): string | undefined {
  const item = `z${depth}`
  const test = negativeZeroTest(element, item, depth + 1)
  return test && `list_contains(list_transform(${list}, lambda ${item}: coalesce(${test}, false)), true)`
}

function anyOf(tests: readonly (string | undefined)[]): string | undefined {
  const possible = tests.filter((test) => test !== undefined).map((test) => `coalesce(${test}, false)`)
  return possible.length === 0 ? undefined : `(${possible.join(' OR ')})`
}
