import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { Lineage } from './types.ts'

/** The beginning of the keys of all lineage queries. */
export const LINEAGE_KEY = ['lineage'] as const

/** What to ask the lineage for. */
export interface LineageRequest {
  readonly table?: string | undefined
  readonly direction?: 'upstream' | 'downstream' | 'both' | undefined
  readonly depth?: number | undefined
  readonly limit?: number | undefined
  readonly columns?: boolean | undefined
}

/** State and lag change all the time; their exact figures are on the page of the pipeline. */
const REFRESH_MS = 30_000

/** The lineage around a table, or of all tables. */
export const lineageQuery = ({ table, direction, depth, limit, columns = false }: LineageRequest) =>
  queryOptions({
    queryKey: [...LINEAGE_KEY, { table, direction, depth, limit, columns }],
    queryFn: ({ signal }) =>
      api.get<Lineage>('/api/lineage', {
        query: { table, direction, depth, limit, columns: String(columns) },
        signal,
      }),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  })
