import { type Kysely, sql } from 'kysely'

import type { Catalog, CatalogEntry } from '../../src/catalog/catalog.ts'
import { formatIdentifier } from '../../src/catalog/table-identifier.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { createTotalsSource } from '../../src/maintenance/inspection/totals/totals-source.ts'
import { createHealthIndexer } from '../../src/services/tables/health-index/indexer.ts'
import { createEventFeed } from '../../src/services/events/event-feed.ts'
import { createEventWriter } from '../../src/services/events/event-log.ts'
import { registerInstance } from '../../src/storage/instance-registry.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'
import { createEventStore } from '../../src/storage/stores/event-store.ts'
import { createLeaseStore } from '../../src/storage/stores/lease-store.ts'
import { createHealthIndexStore } from '../../src/storage/stores/tables/health-index-store.ts'
import { createTransactions } from '../../src/storage/transactions.ts'
import { TableFixture } from '../../test/support/table-fixture.ts'
import { until } from '../../test/support/waiting.ts'
import { silentLog } from './quiet-log.ts'
import { withDatabase } from './databases.ts'
import { longestStall, type RecordFigure, timed, typical } from './measure.ts'
import { analyze, PER_NAMESPACE, seedIndex, seedSamples } from './seed.ts'
import type { Place } from './place.ts'

/** Tables that have moved since the last comparison, at most: at one commit an hour 1,000,000 tables move 2,800 times in 10 s. */
const MOVED = 1000
/** Tables of a first build, at most; the time is per table. */
const BUILT = 2000

/** The health index of many tables: its queries, the comparison with the catalog, and a first build. */
export async function simulateIndex(place: Place, record: RecordFigure): Promise<void> {
  return withDatabase(place, async (made) => {
    const db = await openStateDatabase(made.dialect)
    const any = db as unknown as Kysely<never>
    const empty = await made.size(any)
    const seeding = await timed(() => seedIndex(db, place.size))
    await analyze(any)
    const size = (await made.size(any)) - empty
    record('size per table', size / place.size)
    await timeQueries(db, record)
    await compareOnce(db, place.size, record)
    record('seeding', seeding)
    const before = await made.size(any)
    await seedSamples(db)
    record('size per sample', ((await made.size(any)) - before) / place.size)
    await sql`delete from table_health`.execute(db)
    const built = Math.min(BUILT, place.size)
    record('first build, per table', (await runIndexer(db, await syntheticCatalog(built, () => undefined))) / built)
    await db.destroy()
  })
}

async function timeQueries(db: Kysely<StateTables>, record: RecordFigure): Promise<void> {
  const store = createHealthIndexStore(db)
  const page = { sort: 'score', order: 'asc', limit: 101 } as const
  record('worst 100', await typical(() => store.list(page)))
  record('largest 100', await typical(() => store.list({ ...page, sort: 'bytes', order: 'desc' })))
  record('search in names', await typical(() => store.list({ ...page, search: 'table_99' })))
  record('one namespace', await typical(() => store.list({ ...page, namespace: 'ns0' })))
  record('totals', await typical(() => store.totals()))
}

/** One comparison, of which some tables are measured; then one in which nothing has moved. */
async function compareOnce(db: Kysely<StateTables>, size: number, record: RecordFigure): Promise<void> {
  const moved = Math.min(MOVED, size)
  const indexed = (n: number) =>
    `s3://warehouse/ns${Math.floor(n / PER_NAMESPACE)}/table_${n}/metadata/00042-6f2a7b1c-5d0e-4a1b-8f3c-000000000000.metadata.json`
  const lake = await syntheticCatalog(size, (n) => (n < moved ? undefined : indexed(n)))
  const stall = await longestStall(async () => {
    record(`comparison, ${moved.toLocaleString('en')} moved`, await runIndexer(db, lake))
  })
  record('without an answer to others', stall)
  record('comparison, none moved', await runIndexer(db, lake))
}

/** Runs the indexer until it has compared everything once; ms. */
async function runIndexer(db: Kysely<StateTables>, catalog: Catalog): Promise<number> {
  const { inTransaction, onCommit } = createTransactions(db)
  const events = createEventStore(db)
  const instance = await registerInstance(db, inTransaction, new Date())
  const feed = createEventFeed({ store: events, onCommit, pollMs: undefined })
  const indexer = createHealthIndexer({
    // the indexer asks for no more of the service
    catalog: { hold: () => ({ catalog, release: () => undefined }) } as never,
    store: createHealthIndexStore(db),
    leases: createLeaseStore(db),
    instance,
    inTransaction,
    events: createEventWriter(events, () => new Date()),
    feed,
    totals: createTotalsSource(),
    log: silentLog,
    now: () => new Date(),
    times: { pollMs: 3_600_000, remeasureMs: 0 },
  })
  const ms = await timed(async () => {
    indexer.start()
    await until(() => indexer.progress().checkedAt, 'the end of a comparison', 3_600_000)
  })
  feed.close()
  await indexer.close()
  await instance.close()
  return ms
}

/**
 * A catalog of `size` tables that all have the metadata of one real table of 3 commits and 15 files, which is decoded once:
 * `npm run bench -- health-index` measures the reading of files. `at` has the location of a table; undefined: its real one.
 */
async function syntheticCatalog(size: number, at: (n: number) => string | undefined): Promise<Catalog> {
  const { table } = await templateTable()
  const real = (n: number) => `mem:/warehouse/t/metadata/${n}.metadata.json`
  const entries: CatalogEntry[] = Array.from({ length: size }, (_, n) => {
    const identifier = { namespace: [`ns${Math.floor(n / PER_NAMESPACE)}`], name: `table_${n}` }
    const load = async () => table
    return { name: formatIdentifier(identifier), identifier, metadataLocation: at(n) ?? real(n), load }
  })
  const loadTable = async (identifier: Table['identifier']): Promise<Table> => {
    const n = identifier.name.slice('table_'.length)
    return {
      ...table,
      identifier,
      metadataLocation: real(Number(n)),
      metadata: { ...table.metadata, tableUuid: `uuid-${n}` },
    }
  }
  return {
    name: 'lake',
    warehouse: 'mem:/warehouse',
    listEntries: async () => entries,
    loadTable,
  } as unknown as Catalog
}

async function templateTable(): Promise<TableFixture> {
  const fixture = await TableFixture.create()
  for (let commit = 0; commit < 3; commit += 1) {
    const files = await Promise.all(Array.from({ length: 5 }, () => fixture.dataFile()))
    await fixture.commit((table) => stageAppend(table, { files, operationId: `c${commit}` }))
  }
  return fixture
}
