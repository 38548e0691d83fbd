import { inspect } from 'node:util'

import { afterEach, describe, expect, it } from 'vitest'

import { commitTable } from '../../../src/catalog/commit-table.ts'
import { openCatalog } from '../../../src/catalog/open-catalog.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { postgresDialect } from '../../../src/storage/dialects/postgres.ts'
import { sqliteDialect } from '../../../src/storage/dialects/sqlite.ts'
import { postgresServer } from '../../storage/open.ts'
import { type PostgresLab, postgresLabs } from './postgres.ts'
import { createEvents, EVENTS, SCHEMA, setProperty } from '../support-files.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const newLab = postgresLabs()
const closings: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closings.splice(0)) await close()
})

const V0_COLUMNS = `catalog_name varchar(255) not null, table_namespace varchar(255) not null,
  table_name varchar(255) not null, metadata_location varchar(1000), previous_metadata_location varchar(1000)`
const KEY = 'primary key (catalog_name, table_namespace, table_name)'

/** Opens a catalog by its settings, as the service does. */
async function openAs(lab: PostgresLab, uri: string, extraProps: Readonly<Record<string, string>> = {}) {
  const settings = { catalogType: 'sql', warehouse: `${lab.folder}/warehouse`, catalogName: 'test' } as const
  const catalog = await openCatalog(
    { ...settings, uri, extraProps },
    {
      openSqlite: (path) => sqliteDialect(path),
      openPostgres: async (address) => postgresDialect(address),
      readSecret: (name) => (name === 'CATALOG_PASSWORD' ? 'p@ss/w:ord%' : undefined),
    },
  )
  closings.push(() => catalog.close())
  return catalog
}

function changed({ uri }: PostgresLab, change: (url: URL) => void): string {
  const url = new URL(uri)
  change(url)
  return url.href
}

async function columns({ run }: PostgresLab, schema = 'public'): Promise<string> {
  const rows = await run(`select column_name from information_schema.columns
    where table_schema = '${schema}' and table_name = 'iceberg_tables' order by ordinal_position`)
  return rows.map((row) => row['column_name']).join()
}

describe.skipIf(postgresServer === undefined)('the JDBC catalog tables in PostgreSQL', () => {
  it('are created once when many open the database at the same time', LONG, async () => {
    const lab = await newLab()
    for (let round = 0; round < 5; round++) {
      await lab.run('drop table if exists iceberg_tables, iceberg_namespace_properties')
      const catalogs = Array.from({ length: 8 }, () => lab.open({ maxConnections: 1 }))
      await Promise.all(catalogs.map((catalog) => catalog.ping()))
      await Promise.all(catalogs.map((catalog) => catalog.close()))
    }
    expect(await columns(lab)).toMatch(/,iceberg_type$/)
  })

  it('of version 0 are used unchanged', async () => {
    const lab = await newLab()
    await lab.run(`create table iceberg_tables (${V0_COLUMNS}, ${KEY})`)
    const catalog = lab.open()
    await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(await columns(lab)).not.toContain('iceberg_type')
    expect(await lab.run('select * from iceberg_tables')).toMatchObject([{ metadata_location: table.metadataLocation }])
    expect(await catalog.listTables()).toEqual([EVENTS])
    await catalog.dropTable(EVENTS)
    expect(await catalog.listTables()).toEqual([])
  })

  it('of version 1 may contain views, which are hidden, and tables without a type', async () => {
    const lab = await newLab()
    await lab.run(`create table iceberg_tables (${V0_COLUMNS}, iceberg_type varchar(5), ${KEY})`)
    const catalog = lab.open()
    await createEvents(catalog)
    expect(await lab.run('select iceberg_type from iceberg_tables')).toEqual([{ iceberg_type: 'TABLE' }])
    await lab.run(`update iceberg_tables set iceberg_type = null`)
    await lab.run(`insert into iceberg_tables values ('test', 'db', 'a_view', '/v.json', null, 'VIEW')`)
    expect(await catalog.listTables()).toEqual([EVENTS])
    await commitTable(catalog, EVENTS, setProperty('a', '1'))
    const view = { namespace: ['db'], name: 'a_view' }
    await expect(catalog.loadTable(view)).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
    await expect(catalog.createTable(view, { schema: SCHEMA })).rejects.toMatchObject({ code: 'TABLE_EXISTS' })
  })

  it('are those of the search path, regardless of other schemas', async () => {
    const lab = await newLab()
    await lab.run('create schema old')
    await lab.run('create schema "my lake"')
    await lab.run(`create table old.iceberg_tables (${V0_COLUMNS}, ${KEY})`)
    const catalog = await openAs(lab, `${lab.uri}?currentSchema=%22my%20lake%22`)
    await createEvents(catalog)
    expect(await columns(lab, 'my lake')).toContain('iceberg_type')
    expect(await columns(lab, 'public')).toBe('')
    expect(await lab.run('select * from old.iceberg_tables')).toEqual([])
    const other = await openAs(lab, `${lab.uri}?options=-csearch_path%3Dold`)
    expect(await other.listTables()).toEqual([])
    await createEvents(other)
    expect(await lab.run('select table_name from old.iceberg_tables')).toEqual([{ table_name: 'events' }])
  })

  it("list tables in byte order, regardless of the database's collation", async () => {
    const lab = await newLab()
    const catalog = lab.open()
    await catalog.createNamespace(['db'])
    const names = ['Zebra', '_x', 'a-b', 'a_b', 'ab', 'Äpfel', 'éa', '😀', '\uFF5E']
    for (const name of names) await catalog.createTable({ namespace: ['db'], name }, { schema: SCHEMA })
    await lab.run('alter table iceberg_tables alter column table_name type varchar(255) collate "und-x-icu"')
    const listed = (await catalog.listTables()).map(({ name }) => name)
    expect(listed).toEqual([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
  })

  it('report why they cannot be created or changed', async () => {
    const lab = await newLab()
    const catalog = lab.open()
    const base = await createEvents(catalog)
    const readOnly = await openAs(lab, `${lab.uri}?options=-cdefault_transaction_read_only%3Don`)
    expect(await readOnly.listTables()).toEqual([EVENTS])
    const commit = commitTable(readOnly, EVENTS, setProperty('a', '1'))
    await expect(commit).rejects.toMatchObject({ code: 'IO_FAILED', message: expect.stringContaining('read-only') })
    expect((await catalog.loadTable(EVENTS)).metadataLocation).toBe(base.metadataLocation)
    const nowhere = await openAs(lab, `${lab.uri}?currentSchema=nowhere`)
    await expect(nowhere.ping()).rejects.toThrow('there is no such schema')
    await lab.run('create schema empty')
    const empty = await openAs(lab, `${lab.uri}?options=-cdefault_transaction_read_only%3Don%20-csearch_path%3Dempty`)
    await expect(empty.ping()).rejects.toMatchObject({ code: 'IO_FAILED' })
  })
})

describe.skipIf(postgresServer === undefined)('a PostgreSQL server', () => {
  it('is used when it is available, also after a late start and an outage', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const catalog = lab.open({ relay, maxConnections: 1 })
    await relay.refuse()
    const away = await catalog.ping().catch((error: unknown) => error)
    expect(away).toMatchObject({ code: 'IO_FAILED', message: expect.stringContaining('cannot be reached') })
    await relay.listen()
    await catalog.ping()
    await createEvents(catalog)
    for (let round = 0; round < 3; round++) {
      await relay.refuse()
      relay.cut()
      await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject({ code: 'IO_FAILED' })
      await relay.listen()
      await commitTable(catalog, EVENTS, setProperty(`round${round}`, 'yes'))
    }
    expect((await catalog.loadTable(EVENTS)).metadata.metadataLog).toHaveLength(3)
  })

  it('is queried again after it ended every session', async () => {
    const lab = await newLab()
    const catalog = lab.open({ maxConnections: 1 })
    await createEvents(catalog)
    await lab.run(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    // The end of a session may be detected only when the session is used.
    await catalog.ping().catch(() => catalog.ping())
    await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect((await catalog.loadTable(EVENTS)).metadata.properties).toMatchObject({ a: '1' })
  })

  it('that does not answer is abandoned with its connection', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    await createEvents(lab.open())
    const catalog = lab.open({ relay, answerTimeoutMs: 300, connectTimeoutMs: 300, maxConnections: 1 })
    // On a busy machine, a server that answers may exceed the short limits, too.
    const isLoaded = (): Promise<boolean> =>
      catalog.loadTable(EVENTS).then(
        () => true,
        () => false,
      )
    await until(isLoaded)
    relay.judge = () => 'stall'
    const silent = { code: 'IO_FAILED', message: expect.stringContaining('did not answer in time') }
    await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject(silent)
    await expect(catalog.loadTable(EVENTS)).rejects.toMatchObject(silent) // now during connect
    relay.judge = () => 'pass'
    await until(isLoaded)
    relay.judge = () => 'stall'
    await catalog.close() // does not wait for it
  })

  it('gets no more connections than allowed, and none after the catalog is closed', async () => {
    const lab = await newLab()
    const relay = await lab.relay()
    const url = changed(lab, (to) => (to.port = String(relay.port)))
    const catalog = await openAs(lab, url, { clients: '3' })
    await catalog.ping()
    await Promise.all(Array.from({ length: 30 }, () => catalog.listTables()))
    expect(relay.accepted).toBe(3)
    await catalog.close()
    await until(() => relay.open === 0)
    await expect(catalog.listTables()).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(relay.accepted).toBe(3)
  })

  it('accepts a password from the address, a property or the environment, which no error shows', async () => {
    const lab = await newLab()
    await lab.run(`create role with_password login password 'p@ss/w:ord%'`)
    closings.push(async () => {
      await lab.run('drop owned by with_password')
      await lab.run('drop role with_password')
    })
    await lab.run('grant create on schema public to with_password')
    const as = (password: string): string =>
      changed(lab, (to) => Object.assign(to, { username: 'with_password', password: encodeURIComponent(password) }))
    await (await openAs(lab, as('p@ss/w:ord%'))).ping()
    await (await openAs(lab, as(''), { password: 'p@ss/w:ord%' })).ping()
    await (await openAs(lab, as(''), { password: 'env:CATALOG_PASSWORD' })).ping()
    const refused = async (uri: string, props: Readonly<Record<string, string>>) => {
      const error: unknown = await openAs(lab, uri, props)
        .then((catalog) => catalog.ping())
        .catch((caught: unknown) => caught)
      expect(isIcebergError(error)).toBe(true)
      expect(inspect(error)).not.toMatch(/hunter2|ss\/w/)
      return error
    }
    const credentials = { code: 'IO_FAILED', message: expect.stringContaining('refuses the credentials') }
    expect(await refused(as('hunter2'), {})).toMatchObject(credentials)
    const none = { code: 'IO_FAILED', message: expect.stringContaining('asks for a password') }
    expect(await refused(as(''), {})).toMatchObject(none)
    expect(await refused(as('hunter2'), { password: 'p@ss/w:ord%' })).toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await refused(as(''), { password: 'env:NOBODY' })).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

const ca = process.env['LOCKHOUSE_TEST_POSTGRES_CA']

if (postgresServer !== undefined && ca === undefined) {
  console.warn('Tests of encrypted connections are skipped: LOCKHOUSE_TEST_POSTGRES_CA names no certificate')
}

describe.skipIf(ca === undefined)('an encrypted connection to PostgreSQL', () => {
  const isEncrypted = `select ssl from pg_stat_ssl join pg_stat_activity using (pid)
    where application_name = 'tls-test' and datname = current_database()`
  const open = async (lab: PostgresLab, host: string, mode: string) => {
    const url = changed(lab, (to) => (to.hostname = host))
    return openAs(lab, `${url}?application_name=tls-test&sslmode=${mode}`)
  }

  it.each([
    ['127.0.0.1', 'disable', false],
    ['127.0.0.1', 'require', true],
    ['127.0.0.1', `verify-ca&sslrootcert=${ca}`, true],
    ['localhost', `verify-full&sslrootcert=${ca}`, true],
  ])('to %s works with sslmode=%s: %s', async (host, mode, expected) => {
    const lab = await newLab()
    await (await open(lab, host, mode)).ping()
    expect(await lab.run(isEncrypted)).toEqual([{ ssl: expected }])
  })

  it.each([
    ['localhost', 'verify-full'],
    ['127.0.0.1', `verify-full&sslrootcert=${ca}`],
    ['localhost', `require&sslrootcert=${import.meta.dirname}/sql-postgres.ts`],
    ['localhost', `require&sslrootcert=/nowhere/ca.pem`],
  ])('to %s is refused with sslmode=%s', async (host, mode) => {
    const lab = await newLab()
    const catalog = await open(lab, host, mode)
    await expect(catalog.ping()).rejects.toMatchObject({ code: 'IO_FAILED' })
    expect(await lab.run(isEncrypted)).toEqual([])
  })
})
