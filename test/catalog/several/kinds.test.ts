import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { createSeveralCatalogs } from '../../../src/catalog/several/several-catalogs.ts'
import { createSqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { FakeRestServer } from '../rest/rest-server.ts'
import { restStore } from '../rest/rest-support.ts'
import { commitOnce, SCHEMA } from '../support-files.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'

const newFolder = temporaryFolders()
const open: Catalog[] = []
let server: FakeRestServer

beforeAll(async () => {
  server = await FakeRestServer.start()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})
afterAll(() => server.close())

const KINDS = {
  hadoop(folder: string): Catalog {
    const io = new LocalFileIO({ roots: [folder] })
    return createHadoopCatalog({ name: 'lake', warehouse: join(folder, 'lake'), io, roots: [folder] })
  },
  rest(folder: string): Catalog {
    const warehouse = server.addWarehouse(join(folder, 'lake'))
    return restStore({ uri: server.uri, warehouse, folder, catalog: { roots: [folder] } }).open()
  },
}

/** An SQL catalog, and another one of this kind beside it. */
async function besideSql(kind: keyof typeof KINDS) {
  const folder = newFolder()
  for (const name of ['main', 'lake']) mkdirSync(join(folder, name))
  const io = new LocalFileIO({ roots: [folder] })
  const db = openSqlDatabase(join(folder, 'main.db'))
  const main = createSqlCatalog({ db, name: 'main', warehouse: join(folder, 'main'), io, roots: [folder] })
  const lake = KINDS[kind](folder)
  const catalog = createSeveralCatalogs({
    main,
    others: [{ name: 'lake', catalog: lake, roots: lake.roots ?? [] }],
    onUnreachable: (name, error) => expect.fail(`${name}: ${String(error)}`),
  })
  open.push(catalog)
  await catalog.createNamespace(['s'])
  await catalog.member?.('lake').createNamespace(['s'])
  return { folder, catalog }
}

const create = (catalog: Catalog, name: string, location?: string) =>
  catalog.createTable(parseIdentifier(name), { schema: SCHEMA, ...(location === undefined ? {} : { location }) })
const names = async (catalog: Catalog) => (await catalog.listTables()).map(formatIdentifier)

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('a %s catalog beside an SQL catalog', (kind) => {
  it('creates, lists, loads and changes its own tables', async () => {
    const { catalog } = await besideSql(kind)
    const [own, other] = [await create(catalog, 's.t'), await create(catalog, 'lake:s.t')]
    expect(await names(catalog)).toEqual(['s.t', 'lake:s.t'])
    const changed = await commitOnce(catalog, other.identifier, {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { a: 'b' } }],
    })
    expect(formatIdentifier(changed.identifier)).toBe('lake:s.t')
    const loaded = await catalog.loadTable(other.identifier)
    expect(loaded.metadata).toMatchObject({ tableUuid: other.metadata.tableUuid, properties: { a: 'b' } })
    expect((await catalog.loadTable(own.identifier)).metadataLocation).toBe(own.metadataLocation)
    expect(await catalog.locateTable?.(other.identifier)).toBe(loaded.metadataLocation)
    await expect(catalog.loadTable(parseIdentifier('lake:s.no'))).rejects.toMatchObject({
      code: 'NO_SUCH_TABLE',
      message: expect.stringContaining('lake:s.no'),
    })
  })

  it('keeps tables of the SQL catalog out of the folders of its own', async () => {
    const { catalog } = await besideSql(kind)
    const { metadata } = await create(catalog, 'lake:s.t')
    await expect(create(catalog, 's.inner', `${metadata.location}/data/inner`)).rejects.toMatchObject({
      code: 'TABLES_OVERLAP',
      message: expect.stringContaining('lake:s.t'),
    })
    expect(await names(catalog)).toEqual(['lake:s.t'])
  })

  it('adds no table where one of the SQL catalog has its data', async () => {
    const { folder, catalog } = await besideSql(kind)
    const properties = { 'write.data.path': `file://${join(folder, 'lake/s/t/data/inner')}` }
    await catalog.createTable(parseIdentifier('s.inner'), { schema: SCHEMA, properties })
    await expect(create(catalog, 'lake:s.t')).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
    expect(await names(catalog)).toEqual(['s.inner'])
    if (kind === 'hadoop') expect(existsSync(join(folder, 'lake/s/t'))).toBe(false)
  })
})
