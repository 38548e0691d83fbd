import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type {
  ChangesAnswer,
  FileBounds,
  FileList,
  HistoryList,
  OperationAccepted,
  OperationList,
  OperationResult,
  PartitionList,
  QueryAnswer,
  RecoveryPointList,
  SnapshotList,
  TableHealth,
  TableOverview,
  TableReaderList,
  TableSchema,
  TableStatistics,
} from '../../api/types.ts'

const PAGE_SIZE = 1000

function path(table: string, view: string): string {
  return `/api/table/${encodeURIComponent(table)}${view}`
}

function view<T>(table: string, name: string) {
  return queryOptions({
    queryKey: ['table', table, name],
    queryFn: ({ signal }) => api.get<T>(path(table, name === '' ? '' : `/${name}`), { signal }),
  })
}

/** Location, current snapshot, partitioning, sort order and properties of a table. */
export const overviewQuery = (table: string) => view<TableOverview>(table, '')
/** Columns, nested fields as dotted paths. */
export const schemaQuery = (table: string) => view<TableSchema>(table, 'schema')
/** Files, snapshots, score with its factors, and ready-to-send actions. */
export const healthQuery = (table: string) => view<TableHealth>(table, 'health')

/** Values, NULLs, size and bounds of each column, from the manifests. */
export const statisticsQuery = (table: string) => ({ ...view<TableStatistics>(table, 'statistics'), retry: false })

/** The same with the profile of a sample of the rows. No change of the table measures it again, because that reads data files. */
export const profileQuery = (table: string) =>
  queryOptions({
    queryKey: ['table-profile', table],
    queryFn: ({ signal }) =>
      api.get<TableStatistics>(path(table, '/statistics'), { query: { profile: 'true' }, signal }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The bounds of a column in the data files; without a column, of the first one that the table is laid out by. */
export const fileBoundsQuery = (table: string, column: string) =>
  queryOptions({
    queryKey: ['table', table, 'file-bounds', column],
    queryFn: ({ signal }) =>
      api.get<FileBounds>(path(table, '/file-bounds'), { query: column === '' ? {} : { column }, signal }),
    retry: false,
  })

/** Which rows of a table are shown. */
export interface RowsView {
  /** A branch or tag; empty: the current state. */
  readonly ref: string
  readonly where: string
  readonly order: { readonly column: string; readonly isDescending: boolean } | undefined
  readonly limit: number
}

/** Rows of a table. */
export const rowsQuery = (table: string, { ref, where, order, limit }: RowsView) =>
  queryOptions({
    queryKey: ['table', table, 'rows', ref, where, order, limit],
    queryFn: ({ signal }) =>
      api.get<QueryAnswer>(path(table, '/rows'), {
        query: { ref, where, limit, order_by: order?.column, descending: order?.isDescending ? 'true' : undefined },
        signal,
      }),
    retry: false,
  })

/** Which changes of a table are shown. */
export interface ChangesView {
  /** Snapshot ids. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Columns that identify a row, separated by commas; empty: none. */
  readonly key: string
  readonly where: string
  readonly limit: number
}

/** Changed rows of a table, with their numbers by kind. */
export const changesQuery = (table: string, { from, to, key, where, limit }: ChangesView) =>
  queryOptions({
    queryKey: ['table', table, 'changes', from, to, key, where, limit],
    queryFn: ({ signal }) =>
      api.get<ChangesAnswer>(path(table, '/changes'), {
        query: { from_snapshot_id: from, to_snapshot_id: to, key, where, limit, counts: 'true' },
        signal,
      }),
    retry: false,
  })

interface Page {
  readonly next_page_token: string | null
}

function listing<P extends Page>(table: string, name: string) {
  return infiniteQueryOptions({
    queryKey: ['table', table, name],
    queryFn: ({ pageParam, signal }) =>
      api.get<P>(path(table, `/${name}`), { query: { page_size: PAGE_SIZE, page_token: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page: P) => page.next_page_token,
  })
}

/** Snapshots, newest first, a page at a time. */
export const snapshotsQuery = (table: string) => listing<SnapshotList>(table, 'snapshots')
/** Live files of the current snapshot, a page at a time. */
export const filesQuery = (table: string) => listing<FileList>(table, 'files')
/** Partitions of the current snapshot, a page at a time. */
export const partitionsQuery = (table: string) => listing<PartitionList>(table, 'partitions')
/** The history of the current snapshot, newest first, a page at a time. */
export const historyQuery = (table: string) => listing<HistoryList>(table, 'history')

/** The state that a table had at a time (RFC 3339), and the earliest time that can be restored. */
export const recoveryPointQuery = (table: string, at: string) =>
  queryOptions({
    queryKey: ['table', table, 'recovery-points', at],
    queryFn: ({ signal }) => api.get<RecoveryPointList>('/api/recovery-points', { query: { table, at }, signal }),
  })

/** The users with the latest scans of a table, as clients of the served catalog report them. */
export const readersQuery = (table: string) =>
  queryOptions({
    queryKey: ['table', table, 'readers'],
    queryFn: ({ signal }) => api.get<TableReaderList>(path(table, '/readers'), { query: { page_size: 20 }, signal }),
  })

/** The latest operations on a table. */
export const tableOperationsQuery = (table: string) =>
  queryOptions({
    queryKey: ['table', table, 'operations'],
    queryFn: ({ signal }) => api.get<OperationList>('/api/operations', { query: { table, page_size: 5 }, signal }),
  })

/** Reloads everything about a table after a change. */
export async function forgetTable(table: string): Promise<void> {
  await Promise.all([refresh(['table', table]), refresh('operations')])
}

/** The preview of an action, with the id of its plan; changes nothing. */
export function previewAction(endpoint: string, request: Readonly<Record<string, unknown>>): Promise<OperationResult> {
  return api.post<OperationResult>(endpoint, { ...request, dry_run: true })
}

/** Applies a plan; `PLAN_STALE` if the table has changed since. */
export function applyPlan(
  endpoint: string,
  request: Readonly<Record<string, unknown>>,
  planId: string,
): Promise<OperationAccepted> {
  const headers = { Prefer: 'respond-async' }
  return api.post<OperationAccepted>(endpoint, { ...request, plan_id: planId }, { headers })
}
