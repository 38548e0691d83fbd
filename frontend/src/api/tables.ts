import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import type { TableList, TableListItem, TableSchema } from './types.ts'

/** Every table of the catalog, by name; pages of the service are put together. */
export const tablesQuery = queryOptions({
  queryKey: ['tables'],
  queryFn: async ({ signal }) => ({ tables: await allTables(signal) }),
  staleTime: 30_000,
})

/** The names of all tables, for pickers. */
export const tableNamesQuery = queryOptions({
  ...tablesQuery,
  select: ({ tables }) => tables.map(({ table }) => table),
})

async function allTables(signal: AbortSignal): Promise<readonly TableListItem[]> {
  const tables: TableListItem[] = []
  let token: string | null = null
  do {
    const page: TableList = await api.get('/api/tables', { query: { page_token: token }, signal })
    tables.push(...page.tables)
    token = page.next_page_token
  } while (token !== null)
  return tables
}

/** The columns of a table. */
export const columnsQuery = (table: string) =>
  queryOptions({
    queryKey: ['table', table, 'schema'],
    queryFn: ({ signal }) => api.get<TableSchema>(`/api/table/${encodeURIComponent(table)}/schema`, { signal }),
    retry: false,
  })
