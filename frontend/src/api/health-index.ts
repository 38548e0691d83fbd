import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { HealthIndex, IndexedTable } from './types.ts'

const PAGE_SIZE = 1000
/** Shown tables are read again after this time; the index itself follows the tables by some seconds. */
const REFRESH_MS = 15_000
/** Long lists are read again less often. */
const LONG_REFRESH_MS = 60_000

/** What the key of every query of the health index begins with. */
export const HEALTH_INDEX_KEY = ['health-index'] as const

/** All tables of the health index, and how current it is. */
export interface WholeIndex extends Pick<HealthIndex, 'bands' | 'totals' | 'checked_at' | 'pending_count'> {
  readonly tables: readonly IndexedTable[]
}

/** The health of all tables, by name; pages of the service are put together. */
export const wholeIndexQuery = queryOptions({
  queryKey: [...HEALTH_INDEX_KEY, 'all'],
  queryFn: ({ signal }) => wholeIndex(signal),
  refetchInterval: ({ state }) => ((state.data?.tables.length ?? 0) > PAGE_SIZE ? LONG_REFRESH_MS : REFRESH_MS),
})

/** Counts over all tables, or those of a catalog, and the `count` tables with the lowest scores. */
export const worstTablesQuery = (count: number, catalog?: string) =>
  queryOptions({
    queryKey: [...HEALTH_INDEX_KEY, 'worst', count, catalog ?? ''],
    queryFn: ({ signal }) =>
      api.get<HealthIndex>('/api/health-index', { query: { sort: 'score', page_size: count, catalog }, signal }),
    refetchInterval: REFRESH_MS,
  })

async function wholeIndex(signal: AbortSignal): Promise<WholeIndex> {
  const tables: IndexedTable[] = []
  let token: string | null = null
  for (;;) {
    const page: HealthIndex = await api.get('/api/health-index', {
      query: { sort: 'name', page_size: PAGE_SIZE, page_token: token },
      signal,
    })
    tables.push(...page.tables)
    token = page.next_page_token
    if (token === null) return { ...page, tables }
  }
}
