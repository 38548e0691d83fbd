import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import type { CatalogNames } from '../../../src/catalog/names.ts'
import { createSqlCatalog, type SqlCatalog } from '../../../src/catalog/sql/catalog.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { postgresServer } from '../../storage/open.ts'
import { openSqlDatabase, temporaryFolders } from '../support.ts'
import { SCHEMA } from '../support-files.ts'
import { postgresLabs } from './postgres.ts'

const newLab = postgresLabs()
const newFolder = temporaryFolders()
const opened: Catalog[] = []

afterEach(async () => {
  for (const catalog of opened.splice(0)) await catalog.close()
})

/** A new store that can be opened any number of times. */
async function newSqlite(): Promise<() => SqlCatalog> {
  const folder = newFolder()
  mkdirSync(join(folder, 'warehouse'), { recursive: true })
  const io = new LocalFileIO()
  const warehouse = join(folder, 'warehouse')
  return () => createSqlCatalog({ db: openSqlDatabase(join(folder, 'catalog.db')), name: 'test', warehouse, io })
}

async function newPostgres(): Promise<() => SqlCatalog> {
  const lab = await newLab()
  return () => lab.open()
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (isIcebergError(error) ? error.code : String(error)),
  )

const KINDS = [
  { kind: 'SQLite', newStore: newSqlite, skip: false },
  { kind: 'PostgreSQL', newStore: newPostgres, skip: postgresServer === undefined },
]

for (const { kind, newStore, skip } of KINDS) {
  describe.skipIf(skip)(`names of a catalog in ${kind}`, () => {
    async function openTwo(): Promise<readonly [SqlCatalog & { names: CatalogNames }, SqlCatalog]> {
      const open = await newStore()
      const [one, two] = [open(), open()]
      opened.push(one, two)
      const { names } = one
      if (names === undefined) throw new Error('the catalog has no names')
      return [Object.assign(one, { names }), two]
    }

    it('have properties, which are changed together and are visible to others', async () => {
      const [one, other] = await openTwo()
      const { names } = one
      await names.create(['a', 'b'], { owner: "o'wner", location: `${one.warehouse}/x` })
      expect(await other.listNamespaces()).toEqual([['a'], ['a', 'b']])
      expect(await codeOf(names.create(['a', 'b'], {}))).toBe('NAMESPACE_EXISTS')
      expect(await codeOf(names.create(['a'], {}))).toBe('NAMESPACE_EXISTS')
      await names.change(['a', 'b'], {
        removals: ['owner', 'exists', 'gone'],
        updates: { location: `${one.warehouse}/y`, ключ: 'é' },
      })
      expect(await other.names?.properties(['a', 'b'])).toEqual({ location: `${one.warehouse}/y`, ключ: 'é' })
      await names.change(['a', 'b'], { removals: ['location', 'ключ'], updates: {} })
      expect(await names.properties(['a', 'b'])).toEqual({})
      expect(await codeOf(names.properties(['a', 'c']))).toBe('NO_SUCH_NAMESPACE')
      expect(await codeOf(names.change(['c'], { removals: [], updates: {} }))).toBe('NO_SUCH_NAMESPACE')
    })

    it.each<Readonly<Record<string, string>>>([
      { exists: 'true' },
      { '': 'x' },
      { ['k'.repeat(256)]: 'x' },
      { k: 'v'.repeat(1001) },
      { 'a\0b': 'x' },
      { '\ud83d': 'x' },
      { k: 'a\udc00' },
    ])('%# refuse properties that the tables cannot hold', async (properties) => {
      const [{ names }] = await openTwo()
      expect(await codeOf(names.create(['a'], properties))).toBe('INVALID_ARGUMENT')
      await names.create(['b'], {})
      expect(await codeOf(names.change(['b'], { removals: [], updates: properties }))).toBe('INVALID_ARGUMENT')
      expect(await names.properties(['b'])).toEqual({})
    })

    it('are dropped only when nothing is in them', async () => {
      const [{ names }, other] = await openTwo()
      await names.create(['a'], { k: 'v' })
      await names.create(['a', 'b_'], {})
      await names.create(['a', 'bx'], {})
      await other.createTable({ namespace: ['a', 'b_'], name: 't' }, { schema: SCHEMA })
      expect(await codeOf(names.drop(['a']))).toBe('NAMESPACE_NOT_EMPTY')
      expect(await codeOf(names.drop(['a', 'b_']))).toBe('NAMESPACE_NOT_EMPTY')
      await names.drop(['a', 'bx'])
      await other.dropTable({ namespace: ['a', 'b_'], name: 't' })
      await names.drop(['a', 'b_'])
      await names.drop(['a'])
      expect(await codeOf(names.drop(['a']))).toBe('NO_SUCH_NAMESPACE')
      expect(await other.listNamespaces()).toEqual([])
    })

    it('of tables change, and only one of two tables gets a name', async () => {
      const [{ names }, other] = await openTwo()
      await names.create(['a'], {})
      const named = (name: string) => ({ namespace: ['a'], name })
      const { metadataLocation } = await other.createTable(named('t'), { schema: SCHEMA })
      await other.createTable(named('u'), { schema: SCHEMA })
      const rivals = await Promise.all([
        codeOf(names.rename(named('t'), named('new'))),
        codeOf(other.names?.rename(named('u'), named('new')) ?? Promise.resolve()),
      ])
      expect(rivals.toSorted()).toEqual(['TABLE_EXISTS', 'done'])
      expect(await other.listTables(['a'])).toHaveLength(2)
      if (rivals[0] === 'done') expect((await other.loadTable(named('new'))).metadataLocation).toBe(metadataLocation)
      expect(await codeOf(names.rename(named('gone'), named('x')))).toBe('NO_SUCH_TABLE')
      expect(await codeOf(names.rename(named('new'), { namespace: ['c'], name: 'x' }))).toBe('NO_SUCH_NAMESPACE')
      expect(await codeOf(names.rename(named('new'), named('new')))).toBe('done')
    })

    it('of several tables are committed together or not at all, also by many at once', async () => {
      const [one, other] = await openTwo()
      await one.names.create(['a'], {})
      const tables = ['t', 'u'].map((name) => ({ namespace: ['a'], name }))
      for (const identifier of tables) await other.createTable(identifier, { schema: SCHEMA })
      const commit = (catalog: SqlCatalog, value: string) =>
        catalog.commitAll?.(
          tables.map((identifier) => ({
            identifier,
            request: { requirements: [], updates: [{ action: 'set-properties', updates: { [value]: '1' } }] },
          })),
        )
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, async (_, at) => (await commit(at % 2 === 0 ? one : other, `v${at}`))?.kind),
      )
      const committed = outcomes.filter((kind) => kind === 'committed').length
      expect(committed).toBeGreaterThan(0)
      expect(outcomes.every((kind) => kind === 'committed' || kind === 'refused')).toBe(true)
      for (const identifier of tables) {
        const { metadata } = await one.loadTable(identifier)
        expect(Object.keys(metadata.properties).filter((name) => /^v\d$/.test(name))).toHaveLength(committed)
      }
    })
  })
}
