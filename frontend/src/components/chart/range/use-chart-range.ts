import { useMemo } from 'react'
import { useSearchParams } from '../../../use-search-params.ts'
import { type ChartRange, formatRange, parseRange, type RangeSpec } from './chart-range.ts'

/** The range of the charts of a page, which is in its address. */
export interface ChosenRange {
  readonly range: ChartRange
  /** Shows another range. The browser's Back returns to the range before. */
  readonly choose: (range: ChartRange) => void
}

/** The range in the address of the page, and a function that changes it. */
export function useChartRange(spec: RangeSpec): ChosenRange {
  const [search, changeSearch] = useSearchParams()
  const { range, from, to } = search
  return {
    range: useMemo(() => parseRange({ range, from, to }, spec), [range, from, to, spec]),
    choose: (next) => changeSearch({ ...formatRange(next, spec) }, 'push'),
  }
}
