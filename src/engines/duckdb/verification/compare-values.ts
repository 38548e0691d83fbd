import type { NestedField } from '../../../iceberg/schema/types.ts'

import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'

import { rowHash, scanColumns } from './row-hash.ts'

/** Two SELECTs with column `c<id>` for each field, which must return the same rows in any order. */
export interface RowsToCompare {
  /** The expected rows; undefined: none. */
  readonly expected: string | undefined
  /** The written rows; undefined: none. */
  readonly found: string | undefined
  readonly fields: readonly NestedField[]
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
export async function compareValues(run: DuckDbRun, { expected, found, fields }: RowsToCompare): Promise<Comparison> {
  const whole = [rowHash(scanColumns(fields))]
  const [before] = await checksums(run, expected, whole)
  const [after] = await checksums(run, found, whole)
  if (before === after) return { isEqual: true, differing: [] }
  const each = fields.map((field) => rowHash(scanColumns([field])))
  const left = await checksums(run, expected, each)
  const right = await checksums(run, found, each)
  return { isEqual: false, differing: fields.filter((_, at) => left[at] !== right[at]) }
}

/** The number of rows and the sum of each hash over them, as text. */
async function checksums(
  run: DuckDbRun,
  rows: string | undefined,
  hashes: readonly string[],
): Promise<readonly string[]> {
  if (rows === undefined) return hashes.map(() => checksum('0', '0'))
  const sums = hashes.map((hash, at) => `coalesce(sum(${hash}), 0)::VARCHAR AS h${at}`)
  const [row] = await run.rows(`SELECT count(*)::VARCHAR AS n, ${sums.join(', ')} FROM (${rows}) AS s`)
  return hashes.map((_, at) => checksum(textOf(row?.['n']), textOf(row?.[`h${at}`])))
}

function checksum(count: string, sum: string): string {
  return `${count} ${sum}`
}
