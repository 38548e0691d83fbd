import type { PrimitiveType } from '../../../iceberg/schema/types.ts'
import type { ResultColumn } from '../../../engines/sql-sandbox.ts'
import type { Sample } from './choose-sample.ts'
import type { MeasuredColumn } from './measured-columns.ts'

/** Longer texts are cut to this many characters. */
export const SHOWN_LENGTH = 100
/** Most frequent values of a column that are returned. */
const TOP_VALUES = 10
/** The name of the table in the query. */
export const SAMPLED_RELATION = 'sampled_table'

/** How a value is measured: as a whole number, as a floating-point number, or as text. */
export type Measure = 'whole' | 'float' | 'text'

/** The columns of the result, one row for each measured column. */
export const PROFILE_COLUMNS = [
  'column',
  'rows',
  'values',
  'min_text',
  'max_text',
  'min_whole',
  'max_whole',
  'p25_whole',
  'p50_whole',
  'p75_whole',
  'min_float',
  'max_float',
  'p25_float',
  'p50_float',
  'p75_float',
  'distinct',
  'singles',
  'top',
] as const

export type ProfileColumn = (typeof PROFILE_COLUMNS)[number]

/** The same as the engine returns them: as texts. */
export const PROFILE_RESULT: readonly ResultColumn[] = PROFILE_COLUMNS.map((name) => ({
  name,
  engineType: 'VARCHAR',
  type: { kind: 'string' },
}))

/** How values of a type are measured. */
export function measureOf({ kind }: PrimitiveType): Measure {
  switch (kind) {
    case 'int':
    case 'long':
    case 'decimal':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
      return 'whole'
    case 'float':
    case 'double':
      return 'float'
    default:
      return 'text'
  }
}

/**
 * One SELECT that measures columns in a sample. Every value becomes a text `k` that differs from those of other values, and a
 * number `v` or `d` for its order; for texts, `v` is the length. All columns share the aggregates, because a query with some for each of
 * 1,000 columns needs seconds to plan. No name of the table is in the text.
 */
export function profileSql(columns: readonly MeasuredColumn[], { share }: Pick<Sample, 'share'>): string {
  const roots = [...new Set(columns.map(({ rootId }) => `c${rootId}`))].join(', ')
  const rows = `SELECT ${roots} FROM ${SAMPLED_RELATION}`
  const sample = share === 1 ? '' : ` TABLESAMPLE bernoulli(${100 * share}%)`
  const items = columns.map((column, at) => itemSql(column, at)).join(', ')
  return `WITH items AS MATERIALIZED (
  SELECT e.i AS i, e.k AS k, e.v AS v, e.d AS d FROM (SELECT unnest([${items}]) AS e FROM (${rows})${sample})
), measures AS (
  SELECT i, count(*) AS n, count(k) AS found, min(k) AS lk, max(k) AS uk,
    min(v) AS lv, max(v) AS uv, quantile_disc(v, [0.25, 0.5, 0.75]) AS qv,
    min(d) AS ld, max(d) AS ud, quantile_disc(d, [0.25, 0.5, 0.75]) AS qd
  FROM items GROUP BY i
), counted AS (
  SELECT i, k, count(*) AS n FROM items WHERE k IS NOT NULL GROUP BY i, k
), frequent AS (
  SELECT i, count(*) AS distincts, count(*) FILTER (n = 1) AS singles, min({'n': -n, 'k': k}, ${TOP_VALUES}) AS top
  FROM counted GROUP BY i
)
SELECT m.i, m.n, m.found, lk, uk, lv, uv, qv[1], qv[2], qv[3], ld, ud, qd[1], qd[2], qd[3], distincts, singles, to_json(top)
FROM measures AS m LEFT JOIN frequent AS f ON m.i = f.i`
}

function itemSql({ type, rootId, members }: MeasuredColumn, at: number): string {
  const value = members.reduce((outer, member) => `struct_extract_at(${outer}, ${member})`, `c${rootId}`)
  const whole = (sql: string) => `{'i': ${at}, 'k': (${sql})::VARCHAR, 'v': (${sql})::HUGEINT, 'd': NULL::DOUBLE}`
  switch (measureOf(type)) {
    case 'whole':
      return whole(wholeSql(type, value))
    case 'float': {
      const wide = `${value}::DOUBLE`
      // NaN is a value, but has no place in the order
      return `{'i': ${at}, 'k': (${wide})::VARCHAR, 'v': NULL::HUGEINT, 'd': CASE WHEN isnan(${wide}) THEN NULL ELSE ${wide} END}`
    }
    case 'text': {
      const text = textSql(type, value)
      const key = `CASE WHEN length(${text}) > ${SHOWN_LENGTH} THEN left(${text}, ${SHOWN_LENGTH}) || md5(${text}) ELSE ${text} END`
      return `{'i': ${at}, 'k': ${key}, 'v': length(${text})::HUGEINT, 'd': NULL::DOUBLE}`
    }
  }
}

/** The whole number that the table format keeps for a value: days, microseconds or nanoseconds, an unscaled decimal. */
function wholeSql({ kind }: PrimitiveType, value: string): string {
  switch (kind) {
    case 'decimal':
      return `replace(${value}::VARCHAR, '.', '')::HUGEINT`
    case 'date':
      return orInfinity(value, { sql: `date_diff('day', DATE '1970-01-01', ${value})`, largest: INT_MAX })
    case 'timestamp':
    case 'timestamptz':
      return orInfinity(value, { sql: `epoch_us(${value})`, largest: LONG_MAX })
    case 'time':
      return `epoch_us(${value})`
    case 'timestamp_ns':
      return `epoch_ns(${value})`
    default:
      return value
  }
}

const INT_MAX = 2n ** 31n - 1n
const LONG_MAX = 2n ** 63n - 1n

/** Dates and timestamps at the ends of their range are infinite for the engine, which has NULL for their number. */
function orInfinity(value: string, { sql, largest }: { readonly sql: string; readonly largest: bigint }): string {
  return `CASE WHEN ${value} = 'infinity' THEN ${largest} WHEN ${value} = '-infinity' THEN -${largest} ELSE ${sql} END`
}

function textSql({ kind }: PrimitiveType, value: string): string {
  return kind === 'binary' || kind === 'fixed' ? `lower(hex(${value}))` : `${value}::VARCHAR`
}
