import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { memberOf } from '../../../src/catalog/catalog.ts'
import { loadIfPresent } from '../../../src/catalog/load-if-present.ts'
import { neighboursOf } from '../../../src/catalog/ownership/neighbours.ts'
import { requireUnowned } from '../../../src/catalog/ownership/registration-guard.ts'
import { createSeveralCatalogs } from '../../../src/catalog/several/several-catalogs.ts'
import { createSqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { formatIdentifier, parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { catalogBehaviour } from '../catalog-behaviour.ts'
import { commitOnce, SCHEMA } from '../support-files.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'

const newFolder = temporaryFolders()
const open: Catalog[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((catalog) => catalog.close()))
})

/** A catalog in SQLite, with files below a folder of its own unless the roots say otherwise. */
function sqlCatalog(folder: string, name: string, roots = [join(folder, name)]): Catalog {
  mkdirSync(join(folder, name), { recursive: true })
  const db = openSqlDatabase(join(folder, `${name}.db`))
  const io = new LocalFileIO({ roots })
  return createSqlCatalog({
    db,
    name,
    warehouse: `file://${join(folder, name)}`,
    io,
    roots: roots.map((it) => `file://${it}`),
  })
}

function several(main: Catalog, others: Readonly<Record<string, Catalog | undefined>>, roots: readonly string[] = []) {
  const unreachable: string[] = []
  const catalog = createSeveralCatalogs({
    main,
    others: Object.entries(others).map(([name, one]) => ({ name, catalog: one, roots: one?.roots ?? roots })),
    onUnreachable: (name) => unreachable.push(name),
    limits: { longestMs: 300, retryAfterMs: 20 },
  })
  open.push(catalog)
  return { catalog, unreachable }
}

/** A catalog that can stop to say which tables it has, or do something before. */
function switchable(catalog: Catalog) {
  const state = { isSilent: false, isStalled: false, calls: 0, before: async () => undefined as unknown }
  const ask = async <T>(list: () => Promise<T>): Promise<T> => {
    state.calls += 1
    await state.before()
    if (state.isSilent) throw new IcebergError('IO_FAILED', 'The database does not respond.')
    if (state.isStalled) return new Promise(() => undefined)
    return list()
  }
  const lists: Pick<Catalog, 'listTables' | 'listEntries'> = {
    listTables: () => ask(() => catalog.listTables()),
    listEntries: () => ask(async () => (await catalog.listEntries?.()) ?? []),
  }
  const own = new Proxy(catalog, {
    get(target, key) {
      const value: unknown = Reflect.get(key in lists ? lists : target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return Object.assign(state, { catalog: own })
}

catalogBehaviour('default of several', {
  movable: true,
  create: () => {
    const folder = newFolder()
    const warehouse = join(folder, 'main')
    mkdirSync(warehouse)
    return {
      io: new LocalFileIO({ roots: [folder] }),
      warehouse,
      open: () => {
        const io = new LocalFileIO({ roots: [folder] })
        const main = createSqlCatalog({ db: openSqlDatabase(join(folder, 'main.db')), name: 'main', warehouse, io })
        return several(main, { lake: sqlCatalog(folder, 'lake') }).catalog
      },
    }
  },
})

describe('several catalogs', () => {
  async function twoCatalogs() {
    const folder = newFolder()
    const roots = [folder]
    const main = sqlCatalog(folder, 'main', roots)
    const lake = sqlCatalog(folder, 'lake', roots)
    const { catalog, unreachable } = several(main, { lake })
    await catalog.createNamespace(['s'])
    await catalog.member?.('lake').createNamespace(['s'])
    return { folder, main, lake, catalog, unreachable }
  }
  const create = (catalog: Catalog, name: string, location?: string) =>
    catalog.createTable(parseIdentifier(name), { schema: SCHEMA, ...(location === undefined ? {} : { location }) })
  const names = async (catalog: Catalog) => (await catalog.listTables()).map(formatIdentifier)

  it('have one list, in which names of the default catalog have no prefix', async () => {
    const { catalog } = await twoCatalogs()
    const created = await create(catalog, 'lake:s.t')
    await create(catalog, 's.t')
    expect(formatIdentifier(created.identifier)).toBe('lake:s.t')
    expect(await names(catalog)).toEqual(['s.t', 'lake:s.t'])
    expect((await catalog.listEntries?.())?.map(({ name }) => name)).toEqual(['s.t', 'lake:s.t'])
    const [own, other] = [await catalog.loadTable(parseIdentifier('s.t')), await catalog.loadTable(created.identifier)]
    expect(own.metadata.tableUuid).not.toBe(other.metadata.tableUuid)
    expect(await catalog.locateTable?.(created.identifier)).toBe(other.metadataLocation)
    expect(await memberOf(catalog, created.identifier).statMetadataFile?.(other.metadataLocation)).toBeDefined()
  })

  it('commit to the catalog of the table, and show it its full name', async () => {
    const { catalog, main } = await twoCatalogs()
    await create(catalog, 's.t')
    const { identifier } = await create(catalog, 'lake:s.t')
    const seen: string[] = []
    const table = await commitOnce(catalog, identifier, {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { a: 'b' } }],
      check: async (base, next) =>
        void seen.push(...[base, next].map((it) => (it && formatIdentifier(it.identifier)) || '')),
    })
    expect(table.identifier).toEqual({ catalog: 'lake', namespace: ['s'], name: 't' })
    expect(seen).toEqual(['lake:s.t', 'lake:s.t'])
    expect((await catalog.loadTable(identifier)).metadata.properties).toMatchObject({ a: 'b' })
    expect((await main.loadTable(parseIdentifier('s.t'))).metadata.properties['a']).toBeUndefined()
    await catalog.dropTable(identifier)
    expect(await names(catalog)).toEqual(['s.t'])
  })

  it('say which catalog has no such table, and that there is no such catalog', async () => {
    const { catalog } = await twoCatalogs()
    await expect(catalog.loadTable(parseIdentifier('lake:s.no'))).rejects.toMatchObject({
      code: 'NO_SUCH_TABLE',
      message: 'Table lake:s.no does not exist.',
    })
    await expect(catalog.loadTable(parseIdentifier('other:s.t'))).rejects.toMatchObject({
      code: 'NO_SUCH_TABLE',
      message:
        'Table other:s.t does not exist. There is no catalog other. Tables of the default catalog have no prefix.',
    })
    // its own name is no second name for the tables of the default catalog
    await create(catalog, 's.t')
    expect(await loadIfPresent(catalog, 'main:s.t')).toBeUndefined()
  })

  it('refuse to commit to tables of two catalogs at once', async () => {
    const { catalog } = await twoCatalogs()
    await create(catalog, 's.t')
    await create(catalog, 'lake:s.t')
    const commits = ['s.t', 'lake:s.t'].map((name) => ({
      identifier: parseIdentifier(name),
      request: { requirements: [], updates: [] },
    }))
    expect(await catalog.commitAll?.(commits)).toMatchObject({ kind: 'refused', error: { code: 'UNSUPPORTED' } })
    expect(await catalog.commitAll?.(commits.slice(1))).toMatchObject({ kind: 'committed' })
  })

  it('rename and stage tables in their catalog only', async () => {
    const { catalog } = await twoCatalogs()
    for (const name of ['s.t', 'lake:s.t']) await create(catalog, name)
    const rename = async (from: string, to: string) => catalog.names?.rename(parseIdentifier(from), parseIdentifier(to))
    await rename('lake:s.t', 'lake:s.u')
    expect(await names(catalog)).toEqual(['s.t', 'lake:s.u'])
    await expect(rename('lake:s.u', 's.u')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    const staged = await catalog.names?.stage(parseIdentifier('lake:s.new'), { schema: SCHEMA })
    expect(staged?.location).toMatch(/lake\/s\/new$/)
    expect(await names(catalog)).toEqual(['s.t', 'lake:s.u'])
  })

  it('take a table out again that was added at the same time as one around it, unless another client changed it', async () => {
    const folder = newFolder()
    const main = sqlCatalog(folder, 'main', [folder])
    const other = sqlCatalog(folder, 'lake', [folder])
    const lake = switchable(other)
    const { catalog } = several(main, { lake: lake.catalog })
    await catalog.createNamespace(['s'])
    await catalog.member?.('lake').createNamespace(['s'])
    /** Creates a table of the default catalog; a table around it appears between the two looks at the other catalog. */
    const createInside = async (name: string, between: () => Promise<unknown>) => {
      let looks = 0
      lake.before = async () => {
        looks += 1
        if (looks !== 2) return
        await other.createTable(parseIdentifier(`s.around_${name}`), { schema: SCHEMA, location: `${folder}/${name}` })
        await between()
      }
      await expect(create(catalog, `s.${name}`, `${folder}/${name}/data/in`)).rejects.toMatchObject({
        code: 'TABLES_OVERLAP',
      })
    }
    await createInside('gone', async () => undefined)
    await createInside('kept', async () =>
      commitOnce(main, parseIdentifier('s.kept'), {
        requirements: [],
        updates: [{ action: 'set-properties', updates: { by: 'another client' } }],
      }),
    )
    expect(await names(catalog)).toEqual(['s.kept', 'lake:s.around_gone', 'lake:s.around_kept'])
    expect((await main.loadTable(parseIdentifier('s.kept'))).metadata.properties).toMatchObject({
      by: 'another client',
    })
  })

  describe('with tables in the same folders', () => {
    it.each([
      ['s.t', 'lake:s.u'],
      ['lake:s.t', 's.u'],
    ])('refuse to register %s as %s, too', async (first, second) => {
      const { catalog } = await twoCatalogs()
      const { metadataLocation } = await create(catalog, first)
      await expect(catalog.registerTable(parseIdentifier(second), metadataLocation)).rejects.toMatchObject({
        code: 'TABLE_EXISTS',
        message: expect.stringContaining(`already registered as ${first}`),
      })
      expect(await names(catalog)).toEqual([first])
    })

    it.each([
      ['s.t', 'lake:s.u'],
      ['lake:s.t', 's.u'],
    ])('refuse to create a table in a folder of %s as %s', async (first, second) => {
      const { catalog } = await twoCatalogs()
      const { metadata } = await create(catalog, first)
      await expect(create(catalog, second, `${metadata.location}/data/inner`)).rejects.toMatchObject({
        code: 'TABLES_OVERLAP',
      })
      expect(await names(catalog)).toEqual([first])
    })

    it('find a table that another process registered in both, before one is maintained', async () => {
      const { catalog, main, lake } = await twoCatalogs()
      const { metadataLocation } = await main.createTable(parseIdentifier('s.t'), { schema: SCHEMA })
      await lake.registerTable(parseIdentifier('s.t'), metadataLocation)
      for (const name of ['s.t', 'lake:s.t']) {
        const table = await catalog.loadTable(parseIdentifier(name))
        await expect(requireUnowned(catalog, table)).rejects.toMatchObject({ code: 'TABLE_EXISTS' })
      }
    })
  })

  describe('of which one does not respond', () => {
    it('list the tables of the others, and its own again when it responds', async () => {
      const folder = newFolder()
      const [main, lake] = [sqlCatalog(folder, 'main'), switchable(sqlCatalog(folder, 'lake'))]
      const others = { lake: lake.catalog, closed: undefined }
      const { catalog, unreachable } = several(main, others, [`file://${folder}/closed`])
      await catalog.createNamespace(['s'])
      await catalog.member?.('lake').createNamespace(['s'])
      for (const name of ['s.t', 'lake:s.t']) await create(catalog, name)
      lake.isSilent = true
      expect(await names(catalog)).toEqual(['s.t'])
      expect(unreachable).toEqual(['lake'])
      await expect(catalog.loadTable(parseIdentifier('closed:s.t'))).rejects.toMatchObject({
        code: 'IO_FAILED',
        message: 'The catalog closed could not be opened: test its connection.',
      })
      lake.isSilent = false
      await vi.waitFor(async () => expect(await names(catalog)).toEqual(['s.t', 'lake:s.t']), 10_000)
    })

    it('is not waited for again after it was silent for too long', async () => {
      const folder = newFolder()
      const lake = switchable(sqlCatalog(folder, 'lake'))
      const { catalog, unreachable } = several(sqlCatalog(folder, 'main'), { lake: lake.catalog })
      lake.isStalled = true
      expect(await names(catalog)).toEqual([])
      expect(unreachable).toEqual(['lake'])
      const asked = lake.calls
      for (let times = 0; times < 100; times++) expect(await names(catalog)).toEqual([])
      expect(lake.calls - asked).toBeLessThan(50)
    })

    it('protect its locations, and only these', async () => {
      const folder = newFolder()
      const main = sqlCatalog(folder, 'main', [folder])
      const { catalog } = several(main, { closed: undefined }, [`file://${folder}/closed`])
      await catalog.createNamespace(['s'])
      const free = await create(catalog, 's.free')
      expect(await neighboursOf(catalog, free)).toHaveLength(1)
      await expect(create(catalog, 's.inside', `file://${folder}/closed/s/t`)).rejects.toMatchObject({
        code: 'TABLES_OVERLAP',
        message: expect.stringContaining('the catalog closed does not respond, and its tables may keep files'),
      })
      expect(await names(catalog)).toEqual(['s.free'])
    })

    it('add nothing while its locations are not known', async () => {
      const folder = newFolder()
      const { catalog } = several(sqlCatalog(folder, 'main'), { closed: undefined })
      await catalog.createNamespace(['s'])
      await expect(create(catalog, 's.t')).rejects.toMatchObject({ code: 'IO_FAILED' })
      expect(await names(catalog)).toEqual([])
    })
  })
})
