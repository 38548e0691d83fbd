import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'

import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../../src/catalog/sql/tables.ts'
import type { FileIO } from '../../../src/iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { PrefixFileIO } from '../../../src/iceberg/io/prefix.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import { fixturesRoot, haveFixtures } from '../../support/iceberg-fixtures.ts'
import { createEvents, EVENTS, filesBelow, SCHEMA, setProperty } from '../support-files.ts'
import { faultyIO, ioFailure, openSqlDatabase, type QueryHook, temporaryFolders } from '../support.ts'

const newFolder = temporaryFolders()
const open: Catalog[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})

interface Setup {
  readonly folder: string
  readonly db: Kysely<SqlCatalogTables>
  readonly io: FileIO
  readonly catalog: SqlCatalog
}

function setup(options: { folder?: string; name?: string; onQuery?: QueryHook; io?: FileIO } = {}): Setup {
  const folder = options.folder ?? newFolder()
  const db = openSqlDatabase(join(folder, 'catalog.db'), options.onQuery)
  const io = options.io ?? new LocalFileIO()
  const catalog = createSqlCatalog({ db, name: options.name ?? 'test', warehouse: join(folder, 'warehouse'), io })
  open.push(catalog)
  return { folder, db, io, catalog }
}

const V0_DDL = sql`create table iceberg_tables (
  catalog_name varchar(255) not null, table_namespace varchar(255) not null, table_name varchar(255) not null,
  metadata_location varchar(1000), previous_metadata_location varchar(1000),
  primary key (catalog_name, table_namespace, table_name))`

async function columns(db: Kysely<SqlCatalogTables>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info('iceberg_tables')`.execute(db)
  return rows.map((row) => row.name)
}

async function tableRows(db: Kysely<SqlCatalogTables>) {
  return db.selectFrom('iceberg_tables').selectAll().execute()
}

describe('JDBC catalog tables', () => {
  it('are created with iceberg_type, and have the rows that Java and PyIceberg expect', async () => {
    const { db, catalog } = setup()
    const first = await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(await columns(db)).toContain('iceberg_type')
    expect(await tableRows(db)).toEqual([
      {
        catalog_name: 'test',
        table_namespace: 'db',
        table_name: 'events',
        metadata_location: table.metadataLocation,
        previous_metadata_location: first.metadataLocation,
        iceberg_type: 'TABLE',
      },
    ])
    const namespaces = await db.selectFrom('iceberg_namespace_properties').selectAll().execute()
    expect(namespaces).toEqual([
      { catalog_name: 'test', namespace: 'db', property_key: 'exists', property_value: 'true' },
    ])
  })

  it('of version 0 are used unchanged', async () => {
    const { db, catalog } = setup()
    await V0_DDL.execute(db)
    await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(await columns(db)).not.toContain('iceberg_type')
    expect(await tableRows(db)).toMatchObject([{ metadata_location: table.metadataLocation }])
    expect(await catalog.listTables()).toEqual([EVENTS])
    await catalog.dropTable(EVENTS)
    expect(await tableRows(db)).toEqual([])
  })

  it('hide views everywhere, and the names of views stay reserved', async () => {
    const { db, catalog } = setup()
    await createEvents(catalog)
    const view = { namespace: ['db'], name: 'a_view' }
    await sql`insert into iceberg_tables values ('test', 'db', 'a_view', '/v.json', null, 'VIEW')`.execute(db)
    expect(await catalog.listTables()).toEqual([EVENTS])
    await expect(catalog.loadTable(view)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await expect(catalog.dropTable(view)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await expect(catalog.createTable(view, { schema: SCHEMA })).rejects.toMatchObject({ code: 'TABLE_EXISTS' })
    expect(await tableRows(db)).toHaveLength(2)
  })

  it('may contain tables without a type, as PyIceberg writes them', async () => {
    const { db, catalog } = setup()
    await createEvents(catalog)
    await sql`update iceberg_tables set iceberg_type = null`.execute(db)
    expect(await catalog.listTables()).toEqual([EVENTS])
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(table.metadataLocation)
  })

  it('report a row without a metadata location', async () => {
    const { db, catalog } = setup()
    await createEvents(catalog)
    await sql`update iceberg_tables set metadata_location = null`.execute(db)
    await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject({ code: 'INVALID_METADATA' })
  })

  it('report a dangling pointer by the name of the table', async () => {
    const { db, catalog } = setup()
    await createEvents(catalog)
    await sql`update iceberg_tables set metadata_location = '/nowhere/1.metadata.json'`.execute(db)
    const loading = catalog.loadTable(EVENTS)
    await expect(loading).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining('db.events'),
    })
  })
})

const createEventsAt = async (catalog: Catalog, location: string) => {
  await catalog.createNamespace(EVENTS.namespace)
  return catalog.createTable(EVENTS, { schema: SCHEMA, location })
}

describe('SQL catalog names', () => {
  it('separate catalogs in one database, and an unknown one is reported', async () => {
    const { folder, catalog } = setup({ name: 'prod' })
    await createEvents(catalog)
    const { catalog: wrong } = setup({ folder, name: 'default' })
    expect(await wrong.listTables()).toEqual([])
    expect(await wrong.listCatalogNames()).toEqual(['prod'])
    await expect(wrong.loadTable(EVENTS)).rejects.toThrow('"prod"')
    const taken = (await catalog.loadTable(EVENTS)).metadata.location
    const there = createEventsAt(wrong, taken)
    await expect(there).rejects.toMatchObject({ code: 'TABLES_OVERLAP' }) // one folder for two tables
    expect((await createEvents(wrong)).metadata.location).toMatch(/\/db\/events-[0-9a-f]{8}$/)
    const tables = await Promise.all([catalog.loadTable(EVENTS), wrong.loadTable(EVENTS)])
    expect(tables[0].metadata.tableUuid).not.toBe(tables[1].metadata.tableUuid)
    await wrong.dropTable(EVENTS)
    expect(await catalog.listTables()).toEqual([EVENTS])
  })

  it('respect the location of a namespace', async () => {
    const { folder, db, catalog } = setup()
    await catalog.createNamespace(['db'])
    const row = { catalog_name: 'test', namespace: 'db', property_key: 'location' }
    const values = { ...row, property_value: `${folder}/warehouse/special/` }
    await db.insertInto('iceberg_namespace_properties').values(values).execute()
    const table = await catalog.createTable(EVENTS, { schema: SCHEMA })
    expect(table.metadata.location).toBe(`${folder}/warehouse/special/events`)
  })
})

const isSwap = (query: string): boolean => query.startsWith('update "iceberg_tables"')
const isRead = (query: string): boolean => query.startsWith('select "metadata_location"')
const isInsert = (query: string): boolean => query.startsWith('insert into "iceberg_tables"')

describe('SQL commits with an unclear outcome', () => {
  it('are conflicts when the database failed before the update', async () => {
    let broken = true
    const { folder, io, catalog } = setup({
      onQuery: async (query, run) => {
        if (isSwap(query) && broken) throw new Error('connection lost')
        return run()
      },
    })
    const base = await createEvents(catalog)
    const before = await filesBelow(io, folder)
    const commit = commitTable(catalog, EVENTS, setProperty('a', '1'), { retries: { count: 0 } })
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_CONFLICT', cause: { message: 'connection lost' } })
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(base.metadataLocation)
    expect(await filesBelow(io, folder)).toEqual(before)
    broken = false
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(table.metadata.properties).toMatchObject({ a: '1' })
  })

  it('have succeeded when the answer was lost', async () => {
    const { catalog } = setup({
      onQuery: async (query, run) => {
        const result = await run()
        if (isSwap(query)) throw new Error('connection lost')
        return result
      },
    })
    await createEvents(catalog)
    const { table, attempts } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(attempts).toBe(1)
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(table.metadataLocation)
    expect(table.metadata.properties).toMatchObject({ a: '1' })
  })

  it('have succeeded when the answer was lost and others committed on top', async () => {
    const folder = newFolder()
    const { catalog: rival } = setup({ folder })
    await createEvents(rival)
    let first = true
    const { catalog } = setup({
      folder,
      onQuery: async (query, run) => {
        const result = await run()
        if (!isSwap(query) || !first) return result
        first = false
        await commitTable(rival, EVENTS, setProperty('b', '2'))
        throw new Error('connection lost')
      },
    })
    const { table, attempts } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(attempts).toBe(1)
    const current = await rival.loadTable(EVENTS)
    expect(current.metadata.properties).toMatchObject({ a: '1', b: '2' })
    expect(current.metadata.metadataLog.at(-1)?.metadataFile).toBe(table.metadataLocation)
  })

  it('have failed when the answer was lost and another client committed on the base', async () => {
    const folder = newFolder()
    const { catalog: rival } = setup({ folder })
    await createEvents(rival)
    let first = true
    const { catalog, io } = setup({
      folder,
      onQuery: async (query, run) => {
        if (!isSwap(query) || !first) return run()
        first = false
        await commitTable(rival, EVENTS, setProperty('b', '2'))
        throw new Error('connection lost')
      },
    })
    const { table, attempts } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(attempts).toBe(2)
    expect(table.metadata.properties).toMatchObject({ a: '1', b: '2' })
    const files = await filesBelow(io, join(folder, 'warehouse'))
    expect(files).toHaveLength(3)
  })

  it('are unknown when so many others committed that the log does not reach back', async () => {
    const folder = newFolder()
    const { catalog: rival } = setup({ folder })
    await createEvents(rival, { 'write.metadata.previous-versions-max': '1' })
    let first = true
    const { catalog } = setup({
      folder,
      onQuery: async (query, run) => {
        const result = await run()
        if (!isSwap(query) || !first) return result
        first = false
        for (const v of ['1', '2']) await commitTable(rival, EVENTS, setProperty('b', v))
        throw new Error('connection lost')
      },
    })
    const commit = commitTable(catalog, EVENTS, setProperty('a', '1'))
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect((await rival.loadTable(EVENTS)).metadata.properties).toMatchObject({ a: '1', b: '2' })
  })

  it('are unknown when the database stays unavailable, and every file is kept', async () => {
    let away = false
    const { folder, io, catalog } = setup({
      onQuery: async (query, run) => {
        if (away && isRead(query)) throw new Error('connection refused')
        const result = await run()
        if (!isSwap(query)) return result
        away = true
        throw new Error('connection lost')
      },
    })
    await createEvents(catalog)
    const written = join(folder, 'manifest.avro')
    await io.create(written, new Uint8Array([1]))
    const commit = commitTable(catalog, EVENTS, async (table) => ({
      ...(await setProperty('a', '1')(table)),
      writtenFiles: [written],
    }))
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await io.stat(written)).toBeDefined()
    away = false
    expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ a: '1' })
  })

  it('of a new table keep its files unless the table certainly does not exist', async () => {
    const lost = setup({
      onQuery: async (query, run) => {
        const result = await run()
        if (isInsert(query)) throw new Error('connection lost')
        return result
      },
    })
    const created = await createEvents(lost.catalog)
    expect((await lost.catalog.loadTable(EVENTS)).metadataLocation).toBe(created.metadataLocation)

    const refused = setup({
      onQuery: async (query, run) => {
        if (isInsert(query)) throw new Error('disk full')
        return run()
      },
    })
    await expect(createEvents(refused.catalog)).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(await filesBelow(refused.io, join(refused.folder, 'warehouse'))).toEqual([])

    let away = false
    const gone = setup({
      onQuery: async (query, run) => {
        if (isInsert(query)) away = true
        if (away) throw new Error('connection lost')
        return run()
      },
    })
    await expect(createEvents(gone.catalog)).rejects.toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(await filesBelow(gone.io, join(gone.folder, 'warehouse'))).toHaveLength(1)
  })
})

describe('SQL catalog with failing files', () => {
  it('changes nothing when the metadata file cannot be written', async () => {
    let broken = false
    const io = faultyIO(new LocalFileIO(), {
      before: (method) => {
        if (broken && method === 'create') throw ioFailure()
      },
    })
    const { catalog } = setup({ io })
    const base = await createEvents(catalog)
    broken = true
    await expect(commitTable(catalog, EVENTS, setProperty('a', '1'))).rejects.toMatchObject({ code: 'IO_FAILED' })
    broken = false
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(base.metadataLocation)
  })
})

describe('unusable SQLite catalogs', () => {
  it('report the problem, and work once it is solved', async () => {
    const folder = newFolder()
    const missing = createSqlCatalog({
      db: openSqlDatabase(join(folder, 'later', 'catalog.db')),
      name: 'test',
      warehouse: join(folder, 'warehouse'),
      io: new LocalFileIO(),
    })
    open.push(missing)
    await expect(missing.ping()).rejects.toMatchObject({ code: 'IO_FAILED' })
    await new LocalFileIO().write(join(folder, 'later', 'x'), new Uint8Array())
    await missing.ping()
  })

  it('are not changed when they contain something else', async () => {
    const folder = newFolder()
    const garbage = new TextEncoder().encode('not a database at all, but long enough to look like a header'.repeat(40))
    const io = new LocalFileIO()
    await io.write(join(folder, 'catalog.db'), garbage)
    const { catalog } = setup({ folder })
    await expect(catalog.listTables()).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect([...(await io.read(join(folder, 'catalog.db')))]).toEqual([...garbage])
  })
})

describe.skipIf(!haveFixtures)('SQLite catalogs of PyIceberg (needs the fixtures)', () => {
  it.each([
    ['default', 'case_sensitive_names/pyiceberg_catalog.db', 'case_sensitive_names'],
    ['persistent', 'legacy_bare_deletion_vector/catalog.db', 'legacy_bare_deletion_vector'],
  ])('%s opens read-only', async (name, file, table) => {
    const root = join(fixturesRoot, 'duckdb-iceberg')
    const dialect = sqliteDialect(join(root, file), { readonly: true })
    const io = new PrefixFileIO(new LocalFileIO(), [{ from: 'data/persistent', to: root }])
    const catalog = createSqlCatalog({ db: new Kysely({ dialect }), name, warehouse: root, io })
    open.push(catalog)
    expect(await catalog.listCatalogNames()).toEqual([name])
    expect(await catalog.listNamespaces()).toEqual([['default']])
    expect(await catalog.listTables()).toEqual([{ namespace: ['default'], name: table }])
    const loaded = await catalog.loadTable({ namespace: ['default'], name: table })
    expect(loaded.metadata.snapshots.length).toBeGreaterThan(0)
  })
})
