import { IcebergError } from '../../../iceberg/errors.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { NO_LIMIT } from '../session/width.ts'
import type { DuckDbRun, ResultRow } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'

import { rowHash, scanColumns } from './row-hash.ts'

/** Two SELECTs with column `c<id>` for each field, which must return the same rows in any order. */
export interface RowsToCompare {
  /** The expected rows; undefined: none. */
  readonly expected: string | undefined
  /** The written rows; undefined: none. */
  readonly found: string | undefined
  readonly fields: readonly NestedField[]
  /** Whether one thread reads the rows, one side after the other, because they are wide; default false. */
  readonly isForOneThread?: boolean
}

export interface Comparison {
  /** Whether both have the same rows. */
  readonly isEqual: boolean
  /** If they differ: the fields with different values. None: values have moved between rows. */
  readonly differing: readonly NestedField[]
}

/**
 * Compares rows by value in any order: their number, and the sum of a hash of each whole row. A sum detects a duplicated
 * pair, and hashes of whole rows detect values that moved between rows. Only if the sums differ, each column is summed, to
 * name the columns that differ.
 */
export async function compareValues(run: DuckDbRun, rows: RowsToCompare): Promise<Comparison> {
  const { fields } = rows
  const whole = await checksums(run, rows, [rowHash(scanColumns(fields))])
  if (whole.expected[0] === whole.found[0]) return { isEqual: true, differing: [] }
  const each = await checksums(
    run,
    rows,
    fields.map((field) => rowHash(scanColumns([field]))),
  )
  return { isEqual: false, differing: fields.filter((_, at) => each.expected[at] !== each.found[at]) }
}

const SIDES = ['expected', 'found'] as const
type Side = (typeof SIDES)[number]

/**
 * The number of rows and the sum of each hash over them, as text, for both sides. One query reads both, so that no processor
 * is idle at the end of the first; wide rows are read by one query after the other, because both do not fit into the memory.
 */
async function checksums(
  run: DuckDbRun,
  sides: Omit<RowsToCompare, 'fields'>,
  hashes: readonly string[],
): Promise<Readonly<Record<Side, readonly string[]>>> {
  const sums = hashes.map((hash, at) => `coalesce(sum(${hash}), 0)::VARCHAR AS h${at}`).join(', ')
  const limit = sides.isForOneThread === true ? ` LIMIT ${NO_LIMIT}` : ''
  const scans = SIDES.flatMap((side) => {
    const rows = sides[side]
    const from = `(SELECT * FROM (${rows})${limit}) AS s`
    return rows === undefined ? [] : [`SELECT '${side}' AS side, count(*)::VARCHAR AS n, ${sums} FROM ${from}`]
  })
  const queries = sides.isForOneThread === true ? scans : [scans.join('\nUNION ALL\n')]
  const results: ResultRow[] = []
  for (const query of queries) if (query !== '') results.push(...(await run.rows(query)))
  const sumsOf = (side: Side): readonly string[] => {
    if (sides[side] === undefined) return hashes.map(() => checksum('0', '0'))
    const row = results.find((result) => result['side'] === side)
    if (row === undefined)
      throw new IcebergError('ENGINE_FAILED', `the engine returned no checksum of the ${side} rows`)
    return hashes.map((_, at) => checksum(textOf(row['n']), textOf(row[`h${at}`])))
  }
  return { expected: sumsOf('expected'), found: sumsOf('found') }
}

function checksum(count: string, sum: string): string {
  return `${count} ${sum}`
}
