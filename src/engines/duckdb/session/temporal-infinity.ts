import type { PrimitiveType } from '../../../iceberg/schema/types.ts'

const INT_MAX = 2n ** 31n - 1n
const LONG_MAX = 2n ** 63n - 1n

/**
 * Dates and timestamps that the engine treats as infinities, although they are ordinary values of the table format: the
 * greatest number of days, microseconds or nanoseconds, and its negative. Files keep them, but functions give NULL for
 * them, and literals that count from 1970 fail.
 */
export const INFINITIES = [infinity('infinity', 1n), infinity('-infinity', -1n)]

function infinity(name: string, sign: bigint) {
  return { name, units: (type: PrimitiveType): bigint => sign * (type.kind === 'date' ? INT_MAX : LONG_MAX) }
}

/** SQL that gives `valueOf(units)` for a date or timestamp (the SQL `source`) that is an infinity, else `sql`. */
export function withInfinities(
  { type, source, sql }: { readonly type: PrimitiveType; readonly source: string; readonly sql: string },
  valueOf: (units: bigint) => string,
): string {
  const cases = INFINITIES.map(({ name, units }) => `WHEN ${source} = '${name}' THEN ${valueOf(units(type))}`)
  return `CASE ${cases.join(' ')} ELSE ${sql} END`
}

/** SQL of a date, or of a timestamp in larger units, as a finer type; fails for values that the engine treats as infinity. */
export function finerTimestamp(source: string, target: string): string {
  const message = "error('a date or time is out of the range of the type of its column')"
  return `CASE WHEN isinf(${source}) THEN ${message} ELSE CAST(${source} AS ${target}) END`
}
