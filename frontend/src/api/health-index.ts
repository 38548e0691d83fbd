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
    queryFn: async ({ signal }) => {
      if (catalog !== undefined) return worstOf(await wholeIndex(signal, catalog), count)
      return api.get<HealthIndex>('/api/health-index', { query: { sort: 'score', page_size: count }, signal })
    },
    refetchInterval: catalog === undefined ? REFRESH_MS : LONG_REFRESH_MS,
  })

/** The index of a part of the tables, with its own counts: those of the service are over all tables. */
export function worstOf({ tables, ...index }: WholeIndex, count: number): HealthIndex {
  const bands = { good: 0, fair: 0, poor: 0, unknown: 0 }
  const totals = { tables: tables.length, bytes: 0, held_bytes: 0, small_files: 0, stale: 0 }
  for (const table of tables) {
    bands[table.band] += 1
    totals.bytes += table.total_size_bytes
    totals.held_bytes += table.held_bytes
    totals.small_files += table.small_file_count
    totals.stale += table.is_stale ? 1 : 0
  }
  const worst = tables.toSorted((a, b) => (a.score ?? -1) - (b.score ?? -1)).slice(0, count)
  return { ...index, success: true, tables: worst, bands, totals, next_page_token: null }
}

async function wholeIndex(signal: AbortSignal, catalog?: string): Promise<WholeIndex> {
  const tables: IndexedTable[] = []
  let token: string | null = null
  for (;;) {
    const page: HealthIndex = await api.get('/api/health-index', {
      query: { sort: 'name', page_size: PAGE_SIZE, page_token: token, catalog },
      signal,
    })
    tables.push(...page.tables)
    token = page.next_page_token
    if (token === null) return { ...page, tables }
  }
}
