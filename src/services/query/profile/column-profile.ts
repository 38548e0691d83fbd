import type { PrimitiveType, Value } from '../../../iceberg/schema/types.ts'
import { formatValue } from '../../../iceberg/values/values.ts'
import type { columnProfile } from '../../../schemas/tables/statistics.ts'
import type { Wire } from '../../../schemas/wire.ts'
import { measureOf, PROFILE_COLUMNS, type ProfileColumn, SHOWN_LENGTH } from './profile-sql.ts'

type ColumnProfile = Wire<typeof columnProfile>

/** What the engine found in a column; the values are texts. */
export type FoundValues = (name: ProfileColumn) => string | null

/** A column, and the rows of its table. */
export interface ProfiledColumn {
  readonly type: PrimitiveType
  /** Rows of all data files. */
  readonly totalRows: number
}

/** Reads a row of the result of `profileSql`. */
export function foundIn(row: readonly unknown[]): FoundValues {
  return (name) => {
    const value = row[PROFILE_COLUMNS.indexOf(name)]
    return typeof value === 'string' ? value : null
  }
}

/** The profile of a column in a sample without rows. */
export const EMPTY_PROFILE: ColumnProfile = {
  nulls_ratio: null,
  distinct_count: 0,
  distinct_estimate: 0,
  min: null,
  max: null,
  top_values: [],
  quantiles: null,
  lengths: null,
}

/** The profile of a column, from a row of the result of `profileSql`. */
export function columnProfileOf(found: FoundValues, { type, totalRows }: ProfiledColumn): ColumnProfile {
  const number = (name: ProfileColumn): number => Number(found(name) ?? 0)
  const [rows, values, distinct] = [number('rows'), number('values'), number('distinct')]
  const measure = measureOf(type)
  const shown = (text: string | null): string | null => (text === null ? null : shownText(type, text))
  const [p25, p50, p75] = (['p25', 'p50', 'p75'] as const).map((name) =>
    measure === 'text' ? null : shown(found(`${name}_${measure}`)),
  )
  const isNumber = NUMBERS.has(type.kind)
  return {
    nulls_ratio: rows === 0 ? null : (rows - values) / rows,
    distinct_count: distinct,
    distinct_estimate: estimateDistinct({ rows, values, distinct, singles: number('singles'), totalRows }),
    min: shown(found(`min_${measure}`)),
    max: shown(found(`max_${measure}`)),
    top_values: topValues(found('top')).map(({ k, n }) => ({ value: shownText(type, k), count: -n })),
    quantiles: isNumber && p25 != null && p50 != null && p75 != null ? { p25, p50, p75 } : null,
    lengths: type.kind === 'string' && values > 0 ? { min: number('min_whole'), max: number('max_whole') } : null,
  }
}

const NUMBERS: ReadonlySet<string> = new Set(['int', 'long', 'decimal', 'float', 'double'])

interface Counts {
  readonly rows: number
  readonly values: number
  readonly distinct: number
  /** Values that the sample has once. */
  readonly singles: number
  readonly totalRows: number
}

/**
 * A guess at the different values of the table, from the values that the sample has once (estimator "Duj1" of Haas and Stokes, 1998):
 * `n d / (n - f + f n / N)` for n values of N, of which d are different and f occur once. Exact when the sample is the table.
 */
export function estimateDistinct({ rows, values, distinct, singles, totalRows }: Counts): number {
  if (values === 0 || rows >= totalRows) return distinct
  const all = (values * totalRows) / rows
  const guess = (values * distinct) / (values - singles + (singles * values) / all)
  return Math.round(Math.min(all, Math.max(distinct, guess)))
}

interface TopValue {
  readonly k: string
  /** Negative, for the order. */
  readonly n: number
}

function topValues(json: string | null): readonly TopValue[] {
  return json === null ? [] : (JSON.parse(json) as readonly TopValue[])
}

/** A value as the statistics of manifests show it, from the text of the engine. */
function shownText(type: PrimitiveType, text: string): string {
  switch (measureOf(type)) {
    case 'whole':
      return formatValue(type, wholeValue(type, text))
    case 'float':
      return formatValue(type, floatOf(text))
    case 'text': {
      const characters = Array.from(text)
      return characters.length > SHOWN_LENGTH ? `${characters.slice(0, SHOWN_LENGTH).join('')}…` : text
    }
  }
}

function wholeValue({ kind }: PrimitiveType, text: string): Value {
  return kind === 'int' || kind === 'date' ? Number(text) : BigInt(text)
}

function floatOf(text: string): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY
  return text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text)
}
