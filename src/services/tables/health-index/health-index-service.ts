import { splitCatalog } from '../../../catalog/table-identifier.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Caller } from '../../../domain/roles.ts'
import type { HealthBand } from '../../../domain/tables/health-band.ts'
import type { healthHistory, healthIndex, IndexedTableView } from '../../../schemas/tables/health-index.ts'
import type { Wire } from '../../../schemas/wire.ts'
import { fromRequiredColumn } from '../../../storage/json-column.ts'
import {
  type HealthIndexStore,
  type HealthSort,
  indexCursor,
  type IndexCursor,
  type IndexQuery,
  type IndexTotals,
  type TableHealth,
} from '../../../storage/stores/tables/health-index-store.ts'
import { isLimited, seesTable } from '../../identity/access/require-access.ts'
import { decodePageToken, encodePageToken } from '../../paging/page-token.ts'
import type { PageQuery } from '../../paging/paging.ts'
import { requireRange } from '../../paging/time-range.ts'
import { type HealthHistoryQuery, readHistory } from './health-history.ts'
import type { CatalogService } from '../../catalogs/catalog-service.ts'
import type { HealthIndexer } from './indexer.ts'
import type { IndexedAction } from './measure-table.ts'

/** Which tables to return, and in which order. */
export interface HealthIndexQuery extends PageQuery {
  readonly sort?: HealthSort | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly catalog?: string | undefined
  readonly namespace?: string | undefined
  readonly band?: HealthBand | undefined
  readonly search?: string | undefined
}

/** Reads the health index; it never reads a table. */
export interface HealthIndexService {
  /** Tables that exist for the caller, and counts over all of these, or those of the catalog. */
  list(query: HealthIndexQuery, caller: Caller): Promise<Wire<typeof healthIndex>>
  /** Samples, newest first. Throws `NOT_FOUND` for a table that is not in the index, `INVALID_REQUEST` for a wrong range. */
  history(table: string, query: HealthHistoryQuery): Promise<Wire<typeof healthHistory>>
}

/** Rows of a page without `page_size`. */
const DEFAULT_ROWS = 100

/** Which end of each order needs attention first. */
const FIRST: Readonly<Record<HealthSort, 'asc' | 'desc'>> = {
  score: 'asc',
  small_files: 'desc',
  delete_ratio: 'desc',
  bytes: 'desc',
  last_commit: 'asc',
  name: 'asc',
}

interface HealthIndexParts {
  readonly indexer: Pick<HealthIndexer, 'progress'>
  readonly catalog: Pick<CatalogService, 'settings'>
}

/** The health index in the state database. */
export function createHealthIndexService(
  store: HealthIndexStore,
  { indexer, catalog }: HealthIndexParts,
): HealthIndexService {
  const named = (name: string | undefined) => (name === catalog.settings()?.catalogName ? null : name)
  return {
    async list({ sort = 'score', order = FIRST[sort], page_size: size, page_token: token, ...query }, caller) {
      const filter = { ...query, ...(query.catalog === undefined ? {} : { catalog: named(query.catalog) }) }
      const key = `${sort} ${order}`
      const limit = size ?? DEFAULT_ROWS
      const after = decodePageToken(token, (position) => cursorOf(position, key))
      const [rows, totals] = await Promise.all([
        listVisible(store, { ...filter, sort, order, limit: limit + 1, after }, caller),
        isLimited(caller) || filter.catalog !== undefined
          ? totalsOf(store, (table) => seesTable(caller, table) && isIn(filter.catalog, table))
          : store.totals(),
      ])
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      const { checkedAt, pending } = indexer.progress()
      return {
        success: true,
        tables: shown.map(indexedTableView),
        bands: totals.bands,
        totals: {
          tables: totals.tables,
          bytes: totals.bytes,
          held_bytes: totals.heldBytes,
          small_files: totals.smallFiles,
          stale: totals.stale,
        },
        checked_at: checkedAt ?? null,
        pending_count: isLimited(caller) ? 0 : pending,
        next_page_token: last === undefined ? null : tokenOf(key, indexCursor(last, sort)),
      }
    },
    async history(table, query) {
      requireRange(query)
      const row = await store.find(table)
      if (row === undefined)
        throw new DomainError('NOT_FOUND', `table ${table} does not exist, or the health index has not measured it yet`)
      return { success: true, table, ...(await readHistory(store, row.table_uuid, query)) }
    },
  }
}

/** Rows at once of a list that is filtered. */
const ROWS_AT_ONCE = 1000

/** The rows of a list that exist for the caller, up to the limit. */
async function listVisible(
  store: HealthIndexStore,
  query: IndexQuery,
  caller: Caller,
): Promise<readonly TableHealth[]> {
  if (!isLimited(caller)) return store.list(query)
  const visible: TableHealth[] = []
  let { after } = query
  while (true) {
    const rows = await store.list({ ...query, limit: ROWS_AT_ONCE, after })
    visible.push(...rows.filter((row) => seesTable(caller, row.table_name)))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE || visible.length >= query.limit) {
      return visible.slice(0, query.limit)
    }
    after = indexCursor(last, query.sort)
  }
}

/** Whether a table is in a catalog; null: the default one, undefined: any. */
function isIn(catalog: string | null | undefined, table: string): boolean {
  return catalog === undefined || (splitCatalog(table).catalog ?? null) === catalog
}

/** Sums over some of the tables. */
async function totalsOf(store: HealthIndexStore, isCounted: (table: string) => boolean): Promise<IndexTotals> {
  const bands = { good: 0, fair: 0, poor: 0, unknown: 0 }
  const sums = { tables: 0, bytes: 0, heldBytes: 0, smallFiles: 0, stale: 0 }
  for await (const rows of store.walk()) {
    for (const row of rows) {
      if (!isCounted(row.table_name)) continue
      const { band } = indexedTableView(row)
      bands[band] += 1
      sums.tables += 1
      sums.bytes += row.total_size_bytes
      sums.heldBytes += row.held_bytes
      sums.smallFiles += row.small_file_count
      sums.stale += row.is_stale ? 1 : 0
    }
  }
  return { bands, ...sums }
}

function tokenOf(key: string, { value, name }: IndexCursor): string {
  return encodePageToken([key, value, name])
}

function cursorOf(position: unknown, key: string): IndexCursor | undefined {
  if (!Array.isArray(position) || position.length !== 3) return undefined
  const [of, value, name]: unknown[] = position
  if (of !== key || typeof name !== 'string') return undefined
  const isName = key.startsWith('name ')
  if (isName ? typeof value !== 'string' : typeof value !== 'number') return undefined
  return typeof value === 'string' || typeof value === 'number' ? { value, name } : undefined
}

/** A row of the index as the API returns it. */
export function indexedTableView(row: TableHealth): IndexedTableView {
  return {
    table: row.table_name,
    namespace: row.namespace,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only bands are stored
    band: row.band as HealthBand,
    score: row.score,
    problem: row.problem,
    data_file_count: row.data_file_count,
    total_size_bytes: row.total_size_bytes,
    small_file_count: row.small_file_count,
    delete_file_count: row.delete_file_count,
    delete_ratio: row.deleted_ppm / 1_000_000,
    snapshot_count: row.snapshot_count,
    manifest_count: row.manifest_count,
    partition_count: row.partition_count,
    record_count: row.record_count,
    held_bytes: row.held_bytes,
    last_commit_at: row.last_commit_ms === null ? null : new Date(row.last_commit_ms).toISOString(),
    freshness_target: row.freshness_target,
    is_stale: row.is_stale,
    recommended: indexedActions(row).map(({ operation }) => operation),
    measured_at: row.measured_at,
  }
}

/** What the health report of a row recommended. */
export function indexedActions({ actions_json: json }: Pick<TableHealth, 'actions_json'>): IndexedAction[] {
  return fromRequiredColumn<IndexedAction[]>(json)
}
