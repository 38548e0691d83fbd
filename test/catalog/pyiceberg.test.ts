import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { createSqlCatalog } from '../../src/catalog/sql-catalog.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { PYTHON, pyicebergAvailable } from '../interop/harness/environment.ts'
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

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})

function openCatalog(folder: string): Catalog {
  const db = openSqlDatabase(join(folder, 'catalog.db'))
  const catalog = createSqlCatalog({
    db,
    name: 'shared',
    warehouse: `file://${folder}/warehouse`,
    io: new LocalFileIO(),
  })
  open.push(catalog)
  return catalog
}

/** Starts PyIceberg on the catalog in `folder`. */
function start(folder: string, action: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(PYTHON ?? 'python3', [join(import.meta.dirname, 'pyiceberg_catalog.py')], {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  const files = { uri: `sqlite:///${folder}/catalog.db`, warehouse: `file://${folder}/warehouse` }
  child.stdin.write(`${JSON.stringify({ catalog: 'shared', ...files, action, arguments: args })}\n`)
  return child
}

async function pyiceberg<T>(folder: string, action: string, ...args: string[]): Promise<T> {
  const child = start(folder, action, args)
  child.stdin.end()
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`PyIceberg failed (${String(code)}):\n${errors}`)
  const answer: T = JSON.parse(output)
  return answer
}

describe.skipIf(!pyicebergAvailable('SQL catalog with PyIceberg'))('one SQLite file with PyIceberg', () => {
  it('that we made: it lists, loads and commits, and so do we again', async () => {
    const folder = newFolder()
    const catalog = openCatalog(folder)
    const created = await createEvents(catalog)
    await catalog.createNamespace(['db', 'sub'])
    await catalog.createTable({ namespace: ['db', 'sub'], name: 'inner' }, { schema: SCHEMA })
    expect(await pyiceberg(folder, 'listing')).toMatchObject({ tables: expect.arrayContaining(['db.events']) })
    expect(await pyiceberg<TableState>(folder, 'state', 'db.sub.inner')).toMatchObject({ columns: ['id', 'name'] })
    expect(await pyiceberg<TableState>(folder, 'state', 'db.events')).toMatchObject({
      metadata_location: created.metadataLocation,
      uuid: created.metadata.tableUuid,
      columns: ['id', 'name'],
    })

    const theirs = await pyiceberg<TableState>(folder, 'set_property', 'db.events', 'theirs', '1')
    const loaded = await catalog.loadTable(EVENTS)
    expect(loaded.metadataLocation).toBe(theirs.metadata_location)
    expect(loaded.metadata.properties).toMatchObject({ theirs: '1' })

    const { table } = await commitTable(catalog, EVENTS, setProperty('ours', '2'))
    const seen = await pyiceberg<TableState>(folder, 'state', 'db.events')
    expect(seen.metadata_location).toBe(table.metadataLocation)
    expect(seen.properties).toMatchObject({ theirs: '1', ours: '2' })
    expect(seen.log).toEqual([created.metadataLocation, theirs.metadata_location])

    await catalog.dropTable(EVENTS)
    expect(await pyiceberg(folder, 'exists', 'db.events')).toBe(false)
  })

  it('that it made: we list, load and commit, alter nothing, and so does it again', async () => {
    const folder = newFolder()
    const theirs = await pyiceberg<TableState>(folder, 'create', 'their.level.t')
    const columnsBefore = await columns(folder)
    const catalog = openCatalog(folder)
    const identifier = { namespace: ['their', 'level'], name: 't' }
    expect(await catalog.listNamespaces()).toEqual([['their'], ['their', 'level']])
    expect(await catalog.listTables()).toEqual([identifier])
    const loaded = await catalog.loadTable(identifier)
    expect(loaded.metadataLocation).toBe(theirs.metadata_location)
    expect(loaded.metadata.tableUuid).toBe(theirs.uuid)

    await commitTable(catalog, identifier, setProperty('ours', '1'))
    const again = await pyiceberg<TableState>(folder, 'set_property', 'their.level.t', 'theirs', '2')
    expect(again.properties).toMatchObject({ ours: '1', theirs: '2' })
    expect((await catalog.loadTable(identifier)).metadata.properties).toMatchObject({ ours: '1', theirs: '2' })
    await createEvents(catalog)
    expect(await pyiceberg<TableState>(folder, 'state', 'db.events')).toMatchObject({ columns: ['id', 'name'] })

    expect(await columns(folder)).toEqual(columnsBefore)
  })

  it('its commit on a table that it loaded before ours keeps ours', async () => {
    const folder = newFolder()
    const catalog = openCatalog(folder)
    await createEvents(catalog)
    const child = start(folder, 'late_commit', ['db.events'])
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
})

async function columns(folder: string): Promise<readonly string[]> {
  const db = openSqlDatabase(join(folder, 'catalog.db'))
  const { rows } = await sql<{ name: string }>`select name from pragma_table_info('iceberg_tables')`.execute(db)
  await db.destroy()
  return rows.map((row) => row.name)
}
