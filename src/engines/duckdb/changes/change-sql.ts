import type { ChangeType } from '../../../iceberg/changes/change-columns.ts'
import { CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID } from '../../../iceberg/changes/change-columns.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { rowIdentity } from '../comparison/row-hash.ts'
import { quoteText } from '../session/sql-text.ts'

/** Columns of changed rows beside those of the table: ordinal, snapshot, and 1 for a row that appears or -1 for one that disappears. */
export const MARKS = { ordinal: 'o', snapshot: 'v', sign: 'g' } as const

/** Rows with the columns `c<id>` of fields and {@link MARKS}. */
export interface ChangedRows {
  readonly sql: string
  readonly fields: readonly NestedField[]
}

/** Rows that all appear, or that all disappear, in their snapshot: no two of them cancel. */
export function oneSidedChanges({ sql, fields }: ChangedRows): string {
  return `SELECT ${names(fields)}, ${typeOf('r.g > 0')} AS t, o, v, r.p AS ${POSITION} FROM (${sql}) AS r`
}

/** The place of a changed row among those of its snapshot (`positionKey`); NULL where it has none. */
export const POSITION = 'lockhouse_p'

/** The snapshot of changed rows, and its place among those that are read. */
export interface ChangingSnapshot {
  readonly ordinal: number
  readonly snapshotId: bigint
}

/**
 * The rows that differ between the two sides of one snapshot. A row that disappears from one file and appears in another with the same
 * values is the same row, as in Spark's `create_changelog_view`; so many equal rows cancel as both sides have.
 */
export function netChanges({ sql, fields }: ChangedRows, { ordinal, snapshotId }: ChangingSnapshot): string {
  const columns = names(fields)
  // NaN equals NaN and -0.0 differs from 0.0, also inside of nested values
  const identity = rowIdentity(fields.map(({ id, type }) => ({ sql: `r.c${id}`, type })))
  const exact = identity.filter((expression) => !fields.some(({ id }) => expression === `r.c${id}`))
  const groups = [columns, ...exact].join(', ')
  // a sum of integers is a HUGEINT, twice as large; a DOUBLE is exact up to 2^53 rows
  const sum = `sum(g::DOUBLE)`
  const net = `SELECT ${columns}, ${sum}::BIGINT AS n FROM (${sql}) AS r GROUP BY ${groups} HAVING ${sum} <> 0`
  const marks = `${ordinal}::INTEGER AS o, ${snapshotId}::BIGINT AS v`
  return `SELECT ${columns}, ${typeOf('n.n > 0')} AS t, ${marks} FROM (${net}) AS n, LATERAL range(abs(n.n)) AS i(i)`
}

/** What identifies a row: key columns, or its row id. */
export interface ChangeKey {
  readonly columns: readonly NestedField[]
  /** For messages. */
  readonly name: string
  /** Whether a row without the key, which is NULL, is never the same as another one. */
  readonly isOptional: boolean
}

/**
 * Makes a deleted and an inserted row of one snapshot with one key a row before and after an update. A query fails on a key that
 * several deleted rows of a snapshot have, as in Spark: which of them was updated is not known. Of several inserted rows, one is
 * the updated one.
 */
export function withUpdates(changes: string, fields: readonly NestedField[], key: ChangeKey): string {
  const identity = rowIdentity(key.columns.map(({ id, type }) => ({ sql: `r.c${id}`, type }))).join(', ')
  // partitions of a floating-point column itself would return -0.0 as 0.0 (DuckDB 1.5)
  const identified = `SELECT r.*, row(${identity}) AS q FROM (${changes}) AS r`
  const countOf = (type: ChangeType): string =>
    `count(*) FILTER (WHERE k.t = ${quoteText(type)}) OVER (PARTITION BY k.o, k.q)`
  const numbered = `
    SELECT k.*, ${countOf('delete')} AS d, ${countOf('insert')} AS i,
      row_number() OVER (PARTITION BY k.o, k.t, k.q) AS n FROM (${identified}) AS k`
  const isNull = key.isOptional ? key.columns.map(({ id }) => `u.c${id} IS NULL`).join(' OR ') : 'false'
  const refusal =
    `the key ${key.name} does not identify rows: snapshot ` +
    '%s deletes several rows with one key; choose other columns'
  const type = `CASE
      WHEN ${isNull} THEN u.t
      WHEN u.d > 1 THEN error(printf(${quoteText(refusal.replaceAll('%', '%%').replace('%%s', '%s'))}, u.v::VARCHAR))
      WHEN u.d = 1 AND u.i > 0 AND u.t = 'delete' THEN 'update_before'
      WHEN u.d = 1 AND u.t = 'insert' AND u.n = 1 THEN 'update_after'
      ELSE u.t END`
  return `SELECT ${names(fields)}, ${type} AS t, o, v FROM (${numbered}) AS u`
}

/** The columns of rows and those of a change, each named by its field id. */
export function changeColumns(changes: string, fields: readonly NestedField[]): string {
  const own = `t AS c${CHANGE_TYPE.id}, o AS c${CHANGE_ORDINAL.id}, v AS c${COMMIT_SNAPSHOT_ID.id}, ${POSITION}`
  return `SELECT ${names(fields)}, ${own} FROM (${changes})`
}

function typeOf(isInsert: string): string {
  return `CASE WHEN ${isInsert} THEN 'insert' ELSE 'delete' END`
}

function names(fields: readonly NestedField[]): string {
  return fields.map(({ id }) => `c${id}`).join(', ')
}
