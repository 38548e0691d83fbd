import type { Catalog } from '../../../catalog/catalog.ts'
import { listedEntries } from '../../../catalog/ownership/entries.ts'
import { formatIdentifier, namespaceOf, parseIdentifier } from '../../../catalog/table-identifier.ts'
import { FAIR_SCORE, RECOVERED_SCORE } from '../../../domain/tables/health-band.ts'
import { withoutPaths } from '../../../domain/without-paths.ts'
import { mapBounded } from '../../../lib/bounded-map.ts'
import { isIcebergError } from '../../../iceberg/errors.ts'
import type { TableIdentifier } from '../../../iceberg/metadata/table.ts'
import { type Loop, type LoopLease, type NextTick, startLoop } from '../../../lib/start-loop.ts'
import type { TotalsSource } from '../../../maintenance/inspection/totals/totals-source.ts'
import { createTableInspector, type TableInspector } from '../../../maintenance/inspection/table-inspector.ts'
import type { Instance } from '../../../storage/instance-registry.ts'
import type { TableHealthSamplesTable } from '../../../storage/automation-schema.ts'
import { type LeaseStore, namedLease } from '../../../storage/stores/lease-store.ts'
import {
  createHealthIndexStore,
  type HealthIndexStore,
  type KnownTable,
  type TableHealth,
} from '../../../storage/stores/tables/health-index-store.ts'
import type { InTransaction, Tx } from '../../../storage/transactions.ts'
import type { CatalogService } from '../../catalogs/catalog-service.ts'
import type { EventFeed } from '../../events/event-feed.ts'
import type { EventWriter } from '../../events/event-log.ts'
import type { Logger } from '../../logger.ts'
import { healthRow, type MeasuredTable, unreadRow } from './measure-table.ts'

/** Times of the indexer, ms; shortened in tests. */
export interface IndexTimes {
  /** Between two comparisons of all tables with the catalog, at least. */
  readonly pollMs: number
  /** Between two measurements of a table that changes all the time; an operation of the service is measured at once. */
  readonly remeasureMs: number
}

export interface HealthIndexerDeps {
  readonly catalog: CatalogService
  readonly store: HealthIndexStore
  readonly leases: LeaseStore
  readonly instance: Pick<Instance, 'id' | 'isAlive'>
  readonly inTransaction: InTransaction
  readonly events: EventWriter
  readonly feed: Pick<EventFeed, 'follow'>
  readonly totals: TotalsSource
  readonly log: Logger
  readonly now: () => Date
  readonly times?: Partial<IndexTimes> | undefined
}

/** What the indexer knows of the last comparison; only of the process that holds its lease. */
export interface IndexProgress {
  readonly checkedAt: string | undefined
  readonly pending: number
}

/** Keeps the health index: compares the tables of the catalog with it, and measures those that have moved. */
export interface HealthIndexer {
  start(): void
  progress(): IndexProgress
  close(): Promise<void>
}

const TIMES: IndexTimes = { pollMs: 10_000, remeasureMs: 30_000 }
const LEASE_MS = 30_000
/** A comparison may take at most this share of the time: after one of 300 ms the next is 30 s later. */
const IDLE_SHARE = 100
const LONGEST_PAUSE_MS = 5 * 60_000
const PARALLEL_TABLES = 4
const PARALLEL_LOOKUPS = 8
const ROWS_AT_ONCE = 50
/** A table that could not be read is tried again after this time, also when it has not moved. */
const RETRY_UNREAD_MS = 5 * 60_000
const DAY_MS = 86_400_000
const KEPT_SAMPLES_MS = { commit: 30 * DAY_MS, day: 400 * DAY_MS } as const
/** Events after which a table is measured at once. */
const WAKING_EVENTS = /^(operation\.|table\.registered|config\.changed)/

/** An indexer over the current catalog. Of several processes the one that holds the lease does the work. */
export function createHealthIndexer(deps: HealthIndexerDeps): HealthIndexer {
  return new Indexer(deps)
}

/** A table that has moved. */
interface Moved {
  readonly identifier: TableIdentifier
  readonly name: string
  /** Undefined where only loading the table tells. */
  readonly location: string | undefined
  readonly before?: KnownTable | undefined
}

class Indexer implements HealthIndexer {
  readonly #deps: HealthIndexerDeps
  readonly #times: IndexTimes
  readonly #inspector: TableInspector
  /** Tables that an event named: measured although they were measured a moment ago. */
  readonly #urgent = new Set<string>()
  readonly #lease: LoopLease
  #loop: Loop | undefined
  #listener: Loop | undefined
  #checkedAt: string | undefined
  #pending = 0
  #prunedDay = ''

  constructor(deps: HealthIndexerDeps) {
    this.#deps = deps
    this.#inspector = createTableInspector(deps.totals)
    this.#times = { ...TIMES, ...deps.times }
    this.#lease = namedLease(deps, 'health-index', LEASE_MS)
  }

  start(): void {
    const { log } = this.#deps
    this.#loop ??= startLoop({
      everyMs: this.#times.pollMs,
      lease: this.#lease,
      tick: (signal) => this.#tick(signal),
      onError: (error) => log.warn('the health index could not be refreshed', { error }),
    })
    this.#listener ??= startLoop({
      everyMs: this.#times.pollMs,
      tick: (signal) => this.#listen(signal),
      onError: (error) => log.warn('the event log could not be read', { error }),
    })
  }

  progress(): IndexProgress {
    return { checkedAt: this.#checkedAt, pending: this.#pending }
  }

  async close(): Promise<void> {
    await Promise.all([this.#loop?.stop(), this.#listener?.stop()])
  }

  /** Wakes the loop when the service itself has changed a table. */
  async #listen(signal: AbortSignal): Promise<void> {
    for await (const { type, data } of this.#deps.feed.follow(undefined, signal)) {
      if (!WAKING_EVENTS.test(type)) continue
      const table = data['table']
      if (typeof table === 'string') this.#urgent.add(table)
      this.#loop?.wake()
    }
  }

  /** Compares all tables once and measures those that have moved. */
  async #tick(signal: AbortSignal): Promise<NextTick> {
    const { catalog, release } = this.#deps.catalog.hold()
    try {
      const startedAt = performance.now()
      const { moved, removed, waiting } = await this.#compare(catalog)
      const tookMs = performance.now() - startedAt
      for (let at = 0; at < removed.length; at += ROWS_AT_ONCE) await this.#remove(removed.slice(at, at + ROWS_AT_ONCE))
      this.#pending = moved.length + waiting
      await this.#measureAll(catalog, moved, signal)
      this.#pending = waiting
      this.#checkedAt = this.#deps.now().toISOString()
      await this.#markStale()
      await this.#prune()
      const pauseMs = waiting > 0 ? this.#times.pollMs : Math.max(this.#times.pollMs, tookMs * IDLE_SHARE)
      return { waitMs: Math.min(LONGEST_PAUSE_MS, pauseMs) }
    } finally {
      release()
    }
  }

  async #compare(catalog: Catalog): Promise<{ moved: Moved[]; removed: string[]; waiting: number }> {
    const known = new Map((await this.#deps.store.known()).map((row) => [row.table_name, row]))
    const nowMs = this.#deps.now().getTime()
    const moved: Moved[] = []
    let waiting = 0
    const listed = await listLocations(catalog, (name) => known.get(name)?.metadata_location)
    for (const table of listed.tables) {
      const row = known.get(table.name)
      known.delete(table.name)
      if (row === undefined) {
        moved.push(table)
        continue
      }
      const ageMs = nowMs - Date.parse(row.measured_at)
      const isOldProblem = row.score === null && ageMs >= RETRY_UNREAD_MS
      if (table.location === row.metadata_location && !isOldProblem) continue
      if (ageMs >= this.#times.remeasureMs || ageMs < 0 || this.#urgent.has(table.name)) {
        moved.push({ ...table, before: row })
      } else waiting += 1
    }
    this.#urgent.clear()
    const removed = [...known.keys()].filter((name) => !isOneOf(listed.unknownCatalogs, name))
    return { moved, removed, waiting }
  }

  async #measureAll(catalog: Catalog, moved: readonly Moved[], signal: AbortSignal): Promise<void> {
    for (let at = 0; at < moved.length && !signal.aborted; at += ROWS_AT_ONCE) {
      if (!(await this.#lease.take())) return
      const some = moved.slice(at, at + ROWS_AT_ONCE)
      const rows = await mapBounded(some, PARALLEL_TABLES, (table) => this.#measure(catalog, table))
      const found = rows.filter((row) => row !== undefined)
      if (found.length > 0) await this.#deps.inTransaction((tx) => this.#save(tx, found))
      this.#pending -= some.length
    }
  }

  /** Undefined for a table that was dropped meanwhile. */
  async #measure(catalog: Catalog, { identifier, name, location, before }: Moved): Promise<TableHealth | undefined> {
    const now = this.#deps.now()
    const measured: MeasuredTable = {
      name,
      namespace: namespaceOf(identifier),
      measuredAt: now.toISOString(),
      before,
    }
    try {
      const table = await catalog.loadTable(identifier)
      return healthRow(measured, table, await this.#inspector.health(table, now.getTime()))
    } catch (error) {
      if (isIcebergError(error, 'NO_SUCH_TABLE')) return undefined
      const problem = isIcebergError(error) ? withoutPaths(error.message) : 'unexpected error; see the log'
      if (!isIcebergError(error)) this.#deps.log.warn('a table could not be measured', { table: name, error })
      return unreadRow(measured, location ?? '', problem)
    }
  }

  async #save(tx: Tx, rows: readonly TableHealth[]): Promise<void> {
    const store = createHealthIndexStore(tx)
    const nowMs = this.#deps.now().getTime()
    const changed: TableHealth[] = []
    const known = new Map((await store.findAll(rows.map((row) => row.table_name))).map((row) => [row.table_name, row]))
    for (const row of rows) {
      const before = known.get(row.table_name)
      const after = withStates(row, before, nowMs)
      changed.push(after)
      for (const type of eventsBetween(before, after)) await this.#report(tx, type, after)
    }
    await store.save(changed, changed.filter(({ score }) => score !== null).flatMap(samplesOf))
  }

  /** Removes tables that the catalog no longer has. Conditions that were reported end with them. */
  async #remove(tables: readonly string[]): Promise<void> {
    await this.#deps.inTransaction(async (tx) => {
      const store = createHealthIndexStore(tx)
      for (const row of await store.findAll(tables)) {
        if (row.is_unhealthy) await this.#report(tx, 'table.healthy', row, REMOVED)
        if (row.is_stale) await this.#report(tx, 'table.fresh', row, REMOVED)
      }
      await store.remove(tables)
    })
  }

  /** Freshness passes without a commit, so it is looked at every time. */
  async #markStale(): Promise<void> {
    const overdue = await this.#deps.store.overdue(this.#deps.now().getTime())
    for (const row of overdue) {
      await this.#deps.inTransaction(async (tx) => {
        await createHealthIndexStore(tx).markStale(row.table_name)
        await this.#report(tx, 'table.stale', row)
      })
    }
  }

  async #report(...[tx, type, row, more]: ReportInput): Promise<void> {
    await this.#deps.events.append(tx, {
      type,
      objectType: 'table',
      objectId: row.table_name,
      data: {
        table: row.table_name,
        score: row.score,
        small_file_count: row.small_file_count,
        delete_file_count: row.delete_file_count,
        last_commit_at: row.last_commit_ms === null ? null : new Date(row.last_commit_ms).toISOString(),
        freshness_target: row.freshness_target,
        ...more,
      },
    })
  }

  async #prune(): Promise<void> {
    const now = this.#deps.now()
    const day = now.toISOString().slice(0, 10)
    if (day === this.#prunedDay) return
    for (const kind of ['commit', 'day'] as const) {
      const oldest = new Date(now.getTime() - KEPT_SAMPLES_MS[kind]).toISOString()
      await this.#deps.store.pruneSamples(kind, oldest)
    }
    this.#prunedDay = day
  }
}

interface Listed {
  readonly tables: readonly Moved[]
  /** Catalogs that do not respond; nobody knows their tables. */
  readonly unknownCatalogs: ReadonlySet<string>
}

/** All tables with their metadata files, as cheaply as the catalogs can tell. */
async function listLocations(catalog: Catalog, knownOf: (name: string) => string | undefined): Promise<Listed> {
  const entries = await listedEntries(catalog)
  const located = await mapBounded(entries, PARALLEL_LOOKUPS, async (entry): Promise<Moved | undefined> => {
    const { identifier, metadataLocation } = entry
    if (identifier === undefined) return undefined
    const name = formatIdentifier(identifier)
    if (metadataLocation !== undefined) return { identifier, name, location: metadataLocation }
    try {
      return { identifier, name, location: await locate(catalog, identifier, knownOf(name)) }
    } catch (error) {
      return isIcebergError(error, 'NO_SUCH_TABLE') ? undefined : { identifier, name, location: undefined }
    }
  })
  const unknownCatalogs = entries.flatMap(({ unknownCatalog }) => unknownCatalog ?? [])
  return { tables: located.filter((table) => table !== undefined), unknownCatalogs: new Set(unknownCatalogs) }
}

function isOneOf(catalogs: ReadonlySet<string>, table: string): boolean {
  const { catalog } = parseIdentifier(table)
  return catalog !== undefined && catalogs.has(catalog)
}

async function locate(catalog: Catalog, identifier: TableIdentifier, known: string | undefined): Promise<string> {
  if (catalog.locateTable !== undefined) return catalog.locateTable(identifier, known)
  return (await catalog.loadTable(identifier)).metadataLocation
}

type ReportInput = readonly [tx: Tx, type: TableEvent, row: TableHealth, more?: { readonly reason: string }]

/** Why a condition ended whose table is gone. */
const REMOVED = { reason: 'the table was removed from the catalog' }

type TableEvent = 'table.unhealthy' | 'table.healthy' | 'table.stale' | 'table.fresh'

/** Adds what depends on the row before: a score near the limit does not change the state each time. */
function withStates(row: TableHealth, before: TableHealth | undefined, nowMs: number): TableHealth {
  const limit = before?.is_unhealthy === true ? RECOVERED_SCORE : FAIR_SCORE
  const isUnhealthy = row.score === null ? before?.is_unhealthy === true : row.score < limit
  const { freshness_ms: freshness, last_commit_ms: last } = row
  const isStale = freshness !== null && last !== null && last + freshness < nowMs
  return { ...row, is_unhealthy: isUnhealthy, is_stale: isStale }
}

/** None for a table that is seen for the first time: its state is no news. */
function eventsBetween(before: TableHealth | undefined, after: TableHealth): readonly TableEvent[] {
  if (before === undefined) return []
  const events: TableEvent[] = []
  if (before.is_unhealthy !== after.is_unhealthy) events.push(after.is_unhealthy ? 'table.unhealthy' : 'table.healthy')
  if (before.is_stale !== after.is_stale) events.push(after.is_stale ? 'table.stale' : 'table.fresh')
  return events
}

/** One sample per minute with a commit, and one per day. */
function samplesOf(row: TableHealth): TableHealthSamplesTable[] {
  const sample = {
    table_uuid: row.table_uuid,
    at: row.measured_at,
    score: row.score ?? 0,
    data_file_count: row.data_file_count,
    total_size_bytes: row.total_size_bytes,
    small_file_count: row.small_file_count,
    delete_file_count: row.delete_file_count,
    snapshot_count: row.snapshot_count,
  }
  return [
    { ...sample, kind: 'commit', slot: row.measured_at.slice(0, 16) },
    { ...sample, kind: 'day', slot: row.measured_at.slice(0, 10) },
  ]
}
