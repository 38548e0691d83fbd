import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { HealthHistory } from '../../../api/types.ts'
import { type ChartRange, rangeQuery } from '../../../components/chart/range/chart-range.ts'

const pathOf = (table: string): string => `/api/table/${encodeURIComponent(table)}/health/history`

/** The latest samples of a table's health after commits, newest first. */
export const healthHistoryQuery = (table: string, count: number) =>
  queryOptions({
    queryKey: ['table', table, 'health-history', count],
    queryFn: ({ signal }) => api.get<HealthHistory>(pathOf(table), { query: { page_size: count }, signal }),
  })

/** The samples of a table's health in a range, newest first, thinned to what a chart can show. */
export const healthRangeQuery = (table: string, range: ChartRange) =>
  queryOptions({
    queryKey: ['table', table, 'health-history', 'range', range],
    queryFn: ({ signal }) =>
      api.get<HealthHistory>(pathOf(table), { query: { kind: 'all', ...rangeQuery(range) }, signal }),
  })
