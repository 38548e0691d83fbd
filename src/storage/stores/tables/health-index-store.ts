import { type Expression, type Kysely, type SelectQueryBuilder, sql, type SqlBool } from 'kysely'

import type { HealthBand } from '../../../domain/tables/health-band.ts'
import type { HEALTH_SORTS } from '../../../schemas/tables/health-index.ts'
import type { TableHealthSamplesTable, TableHealthTable } from '../../automation-schema.ts'
import { flagColumns, type WithFlags } from '../../flag-columns.ts'
import type { StateTables } from '../../schema.ts'

const flags = flagColumns('is_stale', 'is_unhealthy', 'is_off')

/** The latest known health of a table. */
export type TableHealth = WithFlags<TableHealthTable, 'is_stale' | 'is_unhealthy' | 'is_off'>

export type HealthSort = (typeof HEALTH_SORTS)[number]

/** The last row of a page: its value in the order, and its name. */
export interface IndexCursor {
  readonly value: number | string
  readonly name: string
}

export interface IndexQuery {
  readonly sort: HealthSort
  readonly order: 'asc' | 'desc'
  /** Another catalog than the default one; null: the default one. */
  readonly catalog?: string | null | undefined
  readonly namespace?: string | undefined
  readonly band?: HealthBand | undefined
  readonly search?: string | undefined
  /** Stores return one row more when there are more. */
  readonly limit: number
  readonly after?: IndexCursor | undefined
}

/** Sums over the whole index. */
export interface IndexTotals {
  readonly bands: Readonly<Record<HealthBand, number>>
  readonly tables: number
  readonly bytes: number
  readonly heldBytes: number
  readonly smallFiles: number
  readonly stale: number
}

/** The metadata file that was measured last, and when. */
export type KnownTable = Pick<TableHealth, (typeof KNOWN)[number]>

const KNOWN = [
  'table_name',
  'table_uuid',
  'metadata_location',
  'measured_at',
  'score',
  'sequence_number',
  'newest_snapshot_ms',
] as const satisfies readonly (keyof TableHealth)[]

/** Which samples of a table to return; default: all. */
export interface SampleQuery {
  readonly kind: 'commit' | 'day'
  readonly limit?: number | undefined
  /** Only samples of earlier slots. */
  readonly before?: string | undefined
  /** Times, RFC 3339 in UTC, both included. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** The latest health of each table, and samples over time. */
export interface HealthIndexStore {
  known(): Promise<readonly KnownTable[]>
  find(table: string): Promise<TableHealth | undefined>
  findAll(tables: readonly string[]): Promise<readonly TableHealth[]>
  list(query: IndexQuery): Promise<readonly TableHealth[]>
  /** All rows in pages: the worst score first, tables that could not be read last. A row that changes meanwhile may be missed, or come twice. */
  walk(rowsAtOnce?: number): AsyncGenerator<readonly TableHealth[], void>
  totals(): Promise<IndexTotals>
  save(rows: readonly TableHealth[], samples: readonly TableHealthSamplesTable[]): Promise<void>
  remove(tables: readonly string[]): Promise<void>
  /** Tables whose freshness target has passed at `nowMs` and that are not marked as stale. */
  overdue(nowMs: number): Promise<readonly TableHealth[]>
  markStale(table: string): Promise<void>
  /** Samples of one kind, newest first. */
  samples(uuid: string, query: SampleQuery): Promise<readonly TableHealthSamplesTable[]>
  /** Removes samples of one kind that are older than `at`. */
  pruneSamples(kind: 'commit' | 'day', at: string): Promise<void>
}

/** The value that a row is sorted by; an unread table has the lowest score, an empty one the oldest commit. */
const SORT_VALUES: Readonly<Record<HealthSort, (row: TableHealth) => number | string>> = {
  score: ({ score }) => score ?? -1,
  small_files: (row) => row.small_file_count,
  delete_ratio: (row) => row.deleted_ppm,
  bytes: (row) => row.total_size_bytes,
  last_commit: (row) => row.last_commit_ms ?? 0,
  name: (row) => row.table_name,
}

const SORT_COLUMNS = {
  score: sql<number>`coalesce(score, -1)`,
  small_files: sql<number>`small_file_count`,
  delete_ratio: sql<number>`deleted_ppm`,
  bytes: sql<number>`total_size_bytes`,
  last_commit: sql<number>`coalesce(last_commit_ms, 0)`,
  name: sql<string>`table_name`,
} as const

/** The place of a row in an order. */
export function indexCursor(row: TableHealth, sort: HealthSort): IndexCursor {
  return { value: SORT_VALUES[sort](row), name: row.table_name }
}

/** What a table that could not be read has instead of a score in orders. */
const UNREAD = -1

/** Rows of a page of a walk: some MB, read in a few ms. */
const WALK_ROWS = 1000

/** Rows of one insert: databases limit the parameters of a statement. */
const ROWS_AT_ONCE = 100

/** The health index in the state database. */
export function createHealthIndexStore(db: Kysely<StateTables>): HealthIndexStore {
  return {
    known: () => db.selectFrom('table_health').select(KNOWN).execute(),
    async find(table) {
      const row = await db.selectFrom('table_health').selectAll().where('table_name', '=', table).executeTakeFirst()
      return row && flags.read(row)
    },
    findAll: (tables) => readAll(db.selectFrom('table_health').selectAll().where('table_name', 'in', tables)),
    list: (query) => list(db, query),
    walk: (rowsAtOnce = WALK_ROWS) => walk(db, rowsAtOnce),
    totals: () => totals(db),
    save: (rows, samples) => save(db, rows, samples),
    async remove(tables) {
      for (let at = 0; at < tables.length; at += ROWS_AT_ONCE) {
        const names = tables.slice(at, at + ROWS_AT_ONCE)
        await db.deleteFrom('table_health').where('table_name', 'in', names).execute()
      }
    },
    overdue: (nowMs) =>
      readAll(
        db
          .selectFrom('table_health')
          .selectAll()
          .where('freshness_ms', 'is not', null)
          .where('is_stale', '=', 0)
          .where('last_commit_ms', 'is not', null)
          .where(sql<SqlBool>`last_commit_ms + freshness_ms < ${nowMs}`),
      ),
    async markStale(table) {
      await db.updateTable('table_health').set({ is_stale: 1 }).where('table_name', '=', table).execute()
    },
    samples: (uuid, query) => samples(db, uuid, query),
    async pruneSamples(kind, at) {
      await db.deleteFrom('table_health_samples').where('kind', '=', kind).where('at', '<', at).execute()
    },
  }
}

/** A slot is the start of the time of its sample, so that conditions on slots, which have an index, follow from those on times. */
function samples(db: Kysely<StateTables>, uuid: string, { kind, limit, before, from, to }: SampleQuery) {
  let rows = db.selectFrom('table_health_samples').selectAll().where('table_uuid', '=', uuid).where('kind', '=', kind)
  if (before !== undefined) rows = rows.where('slot', '<', before)
  if (from !== undefined) rows = rows.where('slot', '>=', from.slice(0, DAY_LENGTH)).where('at', '>=', from)
  if (to !== undefined) rows = rows.where('slot', '<=', to).where('at', '<=', to)
  if (limit !== undefined) rows = rows.limit(limit)
  return rows.orderBy('slot', 'desc').execute()
}

const DAY_LENGTH = '2026-11-20'.length

async function list(db: Kysely<StateTables>, query: IndexQuery): Promise<readonly TableHealth[]> {
  const { sort, order, catalog, namespace, band, search, limit, after } = query
  const value = SORT_COLUMNS[sort]
  let rows: HealthQuery = db.selectFrom('table_health').selectAll()
  if (catalog !== undefined) rows = rows.where(isIn(catalog))
  if (namespace !== undefined) {
    rows = rows.where((where) =>
      where.or([
        where('namespace', '=', namespace),
        sql<SqlBool>`substr(namespace, 1, ${namespace.length + 1}) = ${`${namespace}.`}`,
      ]),
    )
  }
  if (band !== undefined) rows = rows.where('band', '=', band)
  if (search !== undefined) rows = rows.where(contains(search))
  if (after !== undefined) rows = rows.where(isAfter(value, after, order))
  return readAll(rows.orderBy(value, order).orderBy('table_name').limit(limit))
}

function isIn(catalog: string | null) {
  if (catalog === null) return sql<SqlBool>`namespace not like '%:%' or namespace like ':%'`
  return sql<SqlBool>`substr(namespace, 1, ${catalog.length + 1}) = ${`${catalog}:`}`
}

type HealthQuery = SelectQueryBuilder<StateTables, 'table_health', TableHealthTable>

async function readAll(query: HealthQuery): Promise<readonly TableHealth[]> {
  return (await query.execute()).map((row) => flags.read(row))
}

/**
 * Each query asks for one value or for one lower limit, from which an index can begin: with both at once, SQLite would
 * read all rows before the page again.
 */
async function* walk(db: Kysely<StateTables>, limit: number): AsyncGenerator<readonly TableHealth[], void> {
  const value = SORT_COLUMNS.score
  const rows = db.selectFrom('table_health').selectAll().orderBy(value).orderBy('table_name').limit(limit)
  const same = (score: number, name: string) => rows.where(sql<SqlBool>`${value} = ${score} and table_name > ${name}`)
  const beyond = (score: number) => rows.where(sql<SqlBool>`${value} > ${score}`)
  let page = await readAll(beyond(UNREAD))
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield page
    const score = last.score ?? UNREAD
    page = await readAll(same(score, last.table_name))
    if (page.length === 0) page = await readAll(beyond(score))
  }
  for (let name = ''; ; name = page.at(-1)?.table_name ?? '') {
    page = await readAll(same(UNREAD, name))
    if (page.length > 0) yield page
    if (page.length < limit) return
  }
}

function contains(search: string): Expression<SqlBool> {
  const pattern = `%${search.toLowerCase().replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<SqlBool>`lower(table_name) like ${pattern} escape '\\'`
}

/** The first condition follows from the second; it lets an index begin near the row. */
function isAfter(value: Expression<number | string>, after: IndexCursor, order: 'asc' | 'desc') {
  const beyond = order === 'asc' ? sql`>` : sql`<`
  const second = sql`(${value} ${beyond} ${after.value} or table_name > ${after.name})`
  return sql<SqlBool>`(${value} ${beyond}= ${after.value} and ${second})`
}

async function totals(db: Kysely<StateTables>): Promise<IndexTotals> {
  const rows = await db
    .selectFrom('table_health')
    .select((select) => [
      'band',
      select.fn.countAll<number>().as('tables'),
      sql<number>`cast(sum(total_size_bytes) as bigint)`.as('bytes'),
      sql<number>`cast(sum(held_bytes) as bigint)`.as('held'),
      sql<number>`cast(sum(small_file_count) as bigint)`.as('small'),
      sql<number>`cast(sum(is_stale) as bigint)`.as('stale'),
    ])
    .groupBy('band')
    .execute()
  const sum = (pick: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + pick(row), 0)
  const inBand = (band: HealthBand): number => rows.find((row) => row.band === band)?.tables ?? 0
  return {
    bands: { good: inBand('good'), fair: inBand('fair'), poor: inBand('poor'), unknown: inBand('unknown') },
    tables: sum((row) => row.tables),
    bytes: sum((row) => row.bytes),
    heldBytes: sum((row) => row.held),
    smallFiles: sum((row) => row.small),
    stale: sum((row) => row.stale),
  }
}

async function save(
  db: Kysely<StateTables>,
  rows: readonly TableHealth[],
  samples: readonly TableHealthSamplesTable[],
): Promise<void> {
  for (const some of batches(rows.map((row) => flags.write(row)))) {
    await db
      .insertInto('table_health')
      .values(some)
      .onConflict((conflict) => conflict.column('table_name').doUpdateSet(replaced(some)))
      .execute()
  }
  // two names of one table share its samples, and a statement may change a row only once
  const unique = new Map(samples.map((sample) => [`${sample.table_uuid} ${sample.kind} ${sample.slot}`, sample]))
  for (const some of batches([...unique.values()])) {
    await db
      .insertInto('table_health_samples')
      .values(some)
      .onConflict((conflict) => conflict.columns(['table_uuid', 'kind', 'slot']).doUpdateSet(replaced(some)))
      .execute()
  }
}

function batches<T>(rows: readonly T[]): T[][] {
  const result: T[][] = []
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) result.push(rows.slice(at, at + ROWS_AT_ONCE))
  return result
}

/** Every column gets the value that could not be inserted. */
function replaced([first]: readonly object[]) {
  return Object.fromEntries(Object.keys(first ?? {}).map((name) => [name, sql.ref(`excluded.${name}`)]))
}
