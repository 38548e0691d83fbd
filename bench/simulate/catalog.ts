import { Kysely } from 'kysely'

import { createSqlCatalog } from '../../src/catalog/sql/catalog.ts'
import { prepareSqlCatalog, type SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'
import { withDatabase } from './databases.ts'
import { longestStall, type RecordFigure, typical } from './measure.ts'
import { analyze, seedCatalog } from './seed.ts'
import type { Place } from './place.ts'

/** Listing a SQL catalog of many tables. */
export async function simulateCatalog(place: Place, record: RecordFigure): Promise<void> {
  return withDatabase(place, async (made) => {
    const db = new Kysely<SqlCatalogTables>({ dialect: made.dialect })
    await prepareSqlCatalog(db)
    await seedCatalog(db, place.size)
    await analyze(db as unknown as Kysely<never>)
    const size = await made.size(db as unknown as Kysely<never>)
    const catalog = createSqlCatalog({ db, name: 'lake', warehouse: 'mem:/warehouse', io: new MemoryFileIO() })
    record('size per table', size / place.size)
    record('one namespace', await typical(() => catalog.listTables(['ns0'])))
    record('one location', await typical(async () => catalog.locateTable?.({ namespace: ['ns0'], name: 'table_7' })))
    record('namespaces', await typical(() => catalog.listNamespaces(), 3))
    record('all tables', await typical(() => catalog.listTables(), 3))
    record('all locations', await typical(async () => catalog.listEntries?.(), 3))
    record('without an answer to others', await longestStall(async () => catalog.listEntries?.()))
    await catalog.close()
  })
}
