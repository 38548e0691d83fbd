import {
  boundsOf,
  type ChartRange,
  formatRangeTime,
  type RangeSpec,
} from '../../../components/chart/range/chart-range.ts'

const DAY_MS = 86_400_000

/** Days that the report of savings can have; the service allows at most 366. */
export const SAVINGS_RANGE: RangeSpec = { presets: ['7d', '30d', '90d', '1y'], fallback: '30d', unit: 'day' }

/** A day in UTC as text, such as `2026-11-20`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** All days from one to another, both included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const count = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return Array.from({ length: Math.max(0, count) }, (_, at) => dayOf(new Date(Date.parse(from) + at * DAY_MS)))
}

/** The first and the last day of a range; undefined days are those of the service. */
export function daysOf(
  range: ChartRange,
  now: Date,
): { readonly from?: string | undefined; readonly to?: string | undefined } {
  if (range.kind === 'part') {
    return { from: formatRangeTime(range.fromMs, SAVINGS_RANGE), to: formatRangeTime(range.toMs, SAVINGS_RANGE) }
  }
  if (range.preset === SAVINGS_RANGE.fallback) return {}
  const { fromMs } = boundsOf(range, { nowMs: now.getTime(), unit: 'day' })
  return { from: formatRangeTime(fromMs, SAVINGS_RANGE) }
}

/** A part of some days that was dragged, from fractions of their width; the days that it touches. */
export function partOfDays(days: readonly string[], from: number, to: number): ChartRange {
  const at = (place: number): number | undefined => {
    const day = days[Math.min(Math.max(place, 0), days.length - 1)]
    return day === undefined ? undefined : Date.parse(day)
  }
  return {
    kind: 'part',
    fromMs: at(Math.floor(Math.min(from, to) * days.length)),
    toMs: at(Math.ceil(Math.max(from, to) * days.length) - 1),
  }
}
