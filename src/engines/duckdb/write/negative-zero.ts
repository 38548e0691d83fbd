import type { NestedField, Type } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'
import { leafColumns } from './output-layout.ts'
import { quoteName, textList } from '../session/sql-text.ts'
import { structMembers } from '../session/type-mapping.ts'

/**
 * The columns of new files in which a -0.0 may have become 0.0, or the other way round: DuckDB's Parquet writer takes
 * both zeros as one dictionary entry and writes the first one for both. Doubtful columns are floats and doubles with a
 * dictionary and a range that includes zero; the footers show this, so most columns cost nothing.
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

/**
 * Whether rows (a SELECT with column `c<id>` for each field) hold both a -0.0 and a 0.0 in one column of floats or doubles,
 * nested ones included. One of the two alone cannot be taken for the other.
 */
export async function holdBothZeros(run: DuckDbRun, rows: string, fields: readonly NestedField[]): Promise<boolean> {
  const tests = fields.flatMap((field) => {
    const found = (sign: Sign): string | undefined => zeroTest(field.type, `s.c${field.id}`, { sign, depth: 0 })
    const [negative, positive] = [found('-'), found('+')]
    return negative && positive
      ? [`(coalesce(bool_or(${negative}), false) AND coalesce(bool_or(${positive}), false))`]
      : []
  })
  if (tests.length === 0) return false
  const anywhere = tests.join(' OR ')
  const [found] = await run.rows(`SELECT ${anywhere} AS found FROM (${rows}) AS s`)
  return found?.['found'] === true
}

type Sign = '-' | '+'

interface ZeroTest {
  readonly sign: Sign
  /** Keeps lambda parameters apart. */
  readonly depth: number
}

/** SQL that is true when a value holds a zero of the sign; undefined when its type cannot. */
function zeroTest(type: Type, value: string, test: ZeroTest): string | undefined {
  switch (type.kind) {
    case 'float':
    case 'double':
      return `(${value} = 0 AND ${test.sign === '-' ? '' : 'NOT '}signbit(${value}))`
    case 'struct':
      return anyOf(
        structMembers(type.fields).map(([name, { type: inner }]) =>
          zeroTest(inner, `(${value}).${quoteName(name)}`, test),
        ),
      )
    case 'list':
      return listTest(type.element, value, test)
    case 'map':
      return anyOf([listTest(type.key, `map_keys(${value})`, test), listTest(type.value, `map_values(${value})`, test)])
    default:
      return undefined
  }
}

function listTest(element: Type, list: string, { sign, depth }: ZeroTest): string | undefined {
  const item = `z${depth}`
  const test = zeroTest(element, item, { sign, depth: depth + 1 })
  return test && `list_contains(list_transform(${list}, lambda ${item}: coalesce(${test}, false)), true)`
}

function anyOf(tests: readonly (string | undefined)[]): string | undefined {
  const possible = tests.filter((test) => test !== undefined).map((test) => `coalesce(${test}, false)`)
  return possible.length === 0 ? undefined : `(${possible.join(' OR ')})`
}
