import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import { createSeveralCatalogs } from '../../../src/catalog/several/several-catalogs.ts'
import { createSqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { observedCatalog } from '../../../src/services/metrics/observed-catalog.ts'
import { commitOnce, SCHEMA } from '../support-files.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'

const newFolder = temporaryFolders()
const open: Catalog[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})

/** Files between whose changes others do something. */
class BusyFiles extends LocalFileIO {
  afterCreation: () => Promise<unknown> = async () => undefined
  beforeDeletion: () => Promise<unknown> = async () => undefined

  override async create(location: string, bytes: Uint8Array): Promise<void> {
    await super.create(location, bytes)
    if (location.includes('/lake/')) await this.afterCreation()
  }

  override async delete(location: string): Promise<void> {
    if (location.endsWith('.metadata.json')) await this.beforeDeletion()
    await super.delete(location)
  }
}

/** An SQL catalog and a hadoop catalog, and the latter as another process has it open. */
async function catalogs() {
  const folder = newFolder()
  for (const name of ['main', 'lake']) mkdirSync(join(folder, name))
  const io = new BusyFiles({ roots: [folder] })
  const db = openSqlDatabase(join(folder, 'main.db'))
  const main = createSqlCatalog({ db, name: 'main', warehouse: join(folder, 'main'), io, roots: [folder] })
  const hadoop = { name: 'lake', warehouse: join(folder, 'lake'), roots: [folder] }
  const lake = observedCatalog(createHadoopCatalog({ ...hadoop, io }), (_operation, work) => work())
  const others = [{ name: 'lake', catalog: lake, roots: [folder] }]
  const catalog = createSeveralCatalogs({
    main,
    others,
    onUnreachable: (name, error) => expect.fail(`${name}: ${String(error)}`),
  })
  open.push(catalog)
  await catalog.createNamespace(['s'])
  await lake.createNamespace(['s'])
  const elsewhere = createHadoopCatalog({ ...hadoop, io: new LocalFileIO({ roots: [folder] }) })
  /** Creates a table in the SQL catalog with files in the folder of the new table, which the first check cannot see. */
  const overlap = async (): Promise<void> => {
    io.afterCreation = async () => undefined
    const properties = { 'write.data.path': `file://${join(folder, 'lake/s/t/data/inner')}` }
    await main.createTable(parseIdentifier('s.inner'), { schema: SCHEMA, properties })
  }
  const commit = () =>
    commitOnce(elsewhere, parseIdentifier('s.t'), {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { a: 'b' } }],
    })
  const create = () => catalog.createTable(parseIdentifier('lake:s.t'), { schema: SCHEMA })
  const metadataFiles = () => readdirSync(join(folder, 'lake/s/t/metadata')).toSorted()
  return { folder, io, catalog, elsewhere, overlap, commit, create, metadataFiles }
}

const names = async (catalog: Catalog) => (await catalog.listTables()).map(formatIdentifier)

describe('a table of a hadoop catalog that is refused after its creation', () => {
  it('is removed again with its folder', async () => {
    const { folder, io, catalog, overlap, create } = await catalogs()
    io.afterCreation = overlap
    await expect(create()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
    expect(await names(catalog)).toEqual(['s.inner'])
    expect(existsSync(join(folder, 'lake/s/t'))).toBe(false)
    expect(await catalog.member?.('lake').listNamespaces()).toEqual([['s']])
  })

  it('stays when another process has changed it since', async () => {
    const { io, catalog, elsewhere, overlap, commit, create, metadataFiles } = await catalogs()
    io.afterCreation = async () => {
      await overlap()
      await commit()
    }
    await expect(create()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
    expect(await names(catalog)).toEqual(['s.inner', 'lake:s.t'])
    expect((await elsewhere.loadTable(parseIdentifier('s.t'))).metadata.properties).toMatchObject({ a: 'b' })
    expect(metadataFiles()).toEqual(expect.arrayContaining(['v1.metadata.json', 'v2.metadata.json']))
  })

  it('gets its first version back when another process changes it during the removal', async () => {
    const { io, elsewhere, overlap, commit, create, metadataFiles } = await catalogs()
    io.afterCreation = overlap
    io.beforeDeletion = commit
    await expect(create()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
    const { metadata } = await elsewhere.loadTable(parseIdentifier('s.t'))
    expect(metadata.properties).toMatchObject({ a: 'b' })
    expect(metadata.metadataLog).toHaveLength(1)
    expect(metadataFiles()).toEqual(expect.arrayContaining(['v1.metadata.json', 'v2.metadata.json']))
  })

  it('stays when another process has created it first', async () => {
    const { io, elsewhere, overlap, create } = await catalogs()
    const made = await elsewhere.createTable(parseIdentifier('s.t'), { schema: SCHEMA })
    io.afterCreation = overlap
    await expect(create()).rejects.toMatchObject({ code: 'TABLE_EXISTS' })
    const { metadata } = await elsewhere.loadTable(parseIdentifier('s.t'))
    expect(metadata.tableUuid).toBe(made.metadata.tableUuid)
  })

  it('stays when another process has replaced it since', async () => {
    const { folder, io, elsewhere, overlap, create } = await catalogs()
    let replaced = ''
    io.afterCreation = async () => {
      await overlap()
      rmSync(join(folder, 'lake/s/t'), { recursive: true })
      replaced = (await elsewhere.createTable(parseIdentifier('s.t'), { schema: SCHEMA })).metadata.tableUuid
    }
    await create().catch(() => undefined)
    expect((await elsewhere.loadTable(parseIdentifier('s.t'))).metadata.tableUuid).toBe(replaced)
  })
})
