import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { HealthHistory } from '../../../api/types.ts'

/** Whether a history has one sample for each commit, at most one a minute, or one for each day. */
export type HistoryKind = 'commit' | 'day'

/** The latest samples of a table's health, newest first. */
export const healthHistoryQuery = (table: string, kind: HistoryKind, count: number) =>
  queryOptions({
    queryKey: ['table', table, 'health-history', kind, count],
    queryFn: ({ signal }) =>
      api.get<HealthHistory>(`/api/table/${encodeURIComponent(table)}/health/history`, {
        query: { kind, page_size: count },
        signal,
      }),
  })
