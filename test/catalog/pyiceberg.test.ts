import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

import { Kysely } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { createSqlCatalog } from '../../src/catalog/sql/catalog.ts'
import type { SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import { PYTHON, pyicebergAvailable } from '../interop/harness/environment.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { createEvents, EVENTS, SCHEMA, setProperty } from './support-files.ts'
import { openSqlDatabase, temporaryFolders } from './support.ts'

interface TableState {
  readonly metadata_location: string
  readonly uuid: string
  readonly properties: Readonly<Record<string, string>>
  readonly columns: readonly string[]
  readonly log: readonly string[]
}

const newFolder = temporaryFolders()
const open: Catalog[] = []
const removals: (() => Promise<void>)[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
  for (const remove of removals.splice(0)) await remove()
})

/** A database and a warehouse that both sides open. */
interface House {
  readonly folder: string
  /** The address in the form of SQLAlchemy. */
  readonly uri: string
  readonly database: () => Kysely<SqlCatalogTables>
}

async function newHouse(kind: string): Promise<House> {
  const folder = newFolder()
  if (kind === 'SQLite') {
    return {
      folder,
      uri: `sqlite:///${folder}/catalog.db`,
      database: () => openSqlDatabase(join(folder, 'catalog.db')),
    }
  }
  const { place, remove } = await postgresPlace()
  removals.push(remove)
  const database = () => new Kysely<SqlCatalogTables>({ dialect: postgresDialect(place) })
  return { folder, uri: place.replace(/^postgres:/, 'postgresql+psycopg2:'), database }
}

function openCatalog({ folder, database }: House): Catalog {
  const db = database()
  const catalog = createSqlCatalog({
    db,
    name: 'shared',
    warehouse: `file://${folder}/warehouse`,
    io: new LocalFileIO(),
  })
  open.push(catalog)
  return catalog
}

/** Starts PyIceberg on the catalog. */
function start({ folder, uri }: House, action: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(PYTHON ?? 'python3', [join(import.meta.dirname, 'pyiceberg_catalog.py')], {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const files = { uri, warehouse: `file://${folder}/warehouse` }
  child.stdin.write(`${JSON.stringify({ catalog: 'shared', ...files, action, arguments: args })}\n`)
  return child
}

async function pyiceberg<T>(house: House, action: string, ...args: string[]): Promise<T> {
  const child = start(house, action, args)
  child.stdin.end()
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`PyIceberg failed (${String(code)}):\n${errors}`)
  const answer: T = JSON.parse(output)
  return answer
}

const KINDS = postgresServer === undefined ? ['SQLite'] : ['SQLite', 'PostgreSQL']

describe.skipIf(!pyicebergAvailable('SQL catalog with PyIceberg')).each(KINDS)(
  'one %s database with PyIceberg',
  (kind) => {
    it('created by us: PyIceberg lists, loads and commits, and then so do we', async () => {
      const house = await newHouse(kind)
      const catalog = openCatalog(house)
      const created = await createEvents(catalog)
      await catalog.createNamespace(['db', 'sub'])
      await catalog.createTable({ namespace: ['db', 'sub'], name: 'inner' }, { schema: SCHEMA })
      expect(await pyiceberg(house, 'listing')).toMatchObject({ tables: expect.arrayContaining(['db.events']) })
      expect(await pyiceberg<TableState>(house, 'state', 'db.sub.inner')).toMatchObject({ columns: ['id', 'name'] })
      expect(await pyiceberg<TableState>(house, 'state', 'db.events')).toMatchObject({
        metadata_location: created.metadataLocation,
        uuid: created.metadata.tableUuid,
        columns: ['id', 'name'],
      })

      const theirs = await pyiceberg<TableState>(house, 'set_property', 'db.events', 'theirs', '1')
      const loaded = await catalog.loadTable(EVENTS)
      expect(loaded.metadataLocation).toBe(theirs.metadata_location)
      expect(loaded.metadata.properties).toMatchObject({ theirs: '1' })

      const { table } = await commitTable(catalog, EVENTS, setProperty('ours', '2'))
      const seen = await pyiceberg<TableState>(house, 'state', 'db.events')
      expect(seen.metadata_location).toBe(table.metadataLocation)
      expect(seen.properties).toMatchObject({ theirs: '1', ours: '2' })
      expect(seen.log).toEqual([created.metadataLocation, theirs.metadata_location])

      await catalog.dropTable(EVENTS)
      expect(await pyiceberg(house, 'exists', 'db.events')).toBe(false)
    })

    it('created by PyIceberg: we list, load and commit without schema changes, and then so does PyIceberg', async () => {
      const house = await newHouse(kind)
      const theirs = await pyiceberg<TableState>(house, 'create', 'their.level.t')
      const columnsBefore = await columns(house)
      const catalog = openCatalog(house)
      const identifier = { namespace: ['their', 'level'], name: 't' }
      expect(await catalog.listNamespaces()).toEqual([['their'], ['their', 'level']])
      expect(await catalog.listTables()).toEqual([identifier])
      const loaded = await catalog.loadTable(identifier)
      expect(loaded.metadataLocation).toBe(theirs.metadata_location)
      expect(loaded.metadata.tableUuid).toBe(theirs.uuid)

      await commitTable(catalog, identifier, setProperty('ours', '1'))
      const again = await pyiceberg<TableState>(house, 'set_property', 'their.level.t', 'theirs', '2')
      expect(again.properties).toMatchObject({ ours: '1', theirs: '2' })
      expect((await catalog.loadTable(identifier)).metadata.properties).toMatchObject({ ours: '1', theirs: '2' })
      await createEvents(catalog)
      expect(await pyiceberg<TableState>(house, 'state', 'db.events')).toMatchObject({ columns: ['id', 'name'] })

      expect(await columns(house)).toEqual(columnsBefore)
    })

    it('a commit of PyIceberg on a table that it loaded before our commit keeps our change', async () => {
      const house = await newHouse(kind)
      const catalog = openCatalog(house)
      await createEvents(catalog)
      const child = start(house, 'late_commit', ['db.events'])
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
      expect((await lines.next()).value).toBe('loaded')
      const { table } = await commitTable(catalog, EVENTS, setProperty('ours', '1'))
      child.stdin.end('go on\n')
      const outcome = (await lines.next()).value
      expect(outcome).toBe('"committed"')
      const loaded = await catalog.loadTable(EVENTS)
      expect(loaded.metadata.properties).toMatchObject({ ours: '1', late: 'yes' })
      expect(loaded.metadata.metadataLog.at(-1)?.metadataFile).toBe(table.metadataLocation)
    })
  },
)

async function columns({ database }: House): Promise<readonly string[]> {
  const db = database()
  const tables = await db.introspection.getTables()
  await db.destroy()
  return tables
    .filter(({ name }) => name === 'iceberg_tables')
    .flatMap((table) => table.columns.map(({ name }) => name))
}
