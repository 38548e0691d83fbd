import { mkdir, rename, rm, symlink, utimes } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { Catalog } from '../../../src/catalog/catalog.ts'
import { createHadoopCatalog } from '../../../src/catalog/hadoop/catalog.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { runRemoveOrphans } from '../../../src/maintenance/orphans/orphan-files.ts'
import { SCHEMA } from '../../maintenance/memory-table.ts'
import { faultyIO } from '../support.ts'
import { commitOnce } from '../support-files.ts'
import { SharedLake } from './shared-lake.ts'

const MINUTE_MS = 60_000

let lake: SharedLake
/** Metadata, manifests and lists that were read, in order. */
let reads: string[] = []
beforeEach(async () => {
  lake = await SharedLake.open((io) =>
    faultyIO(io, { before: (method, location) => void (method === 'read' && reads.push(location)) }),
  )
})
afterEach(async () => {
  vi.useRealTimers()
  await lake.close()
})

function laterBy(ms: number): void {
  const now = Date.now() + ms
  vi.useFakeTimers({ toFake: ['Date'], now })
}

async function readsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  reads = []
  await work()
  return reads.filter((file) => !file.endsWith('version-hint.text'))
}

const orphans = (name: string) => () => runRemoveOrphans(lake.run(name))
const expiry = (name: string) => () => runExpiry(lake.run(name))

/** Tables that each have something to expire and to remove. */
async function fill(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await lake.create(`t${at}`)
    await lake.append(`t${at}`, [await lake.file(`t${at}`)])
    await lake.replace(`t${at}`)
    await lake.file(`t${at}`) // an orphan
  }
}

describe('maintenance of one table of many', () => {
  it.each([
    ['orphan removal', orphans],
    ['expiry', expiry],
  ])('reads as many files after the first run, whatever the number of tables (%s)', async (_, run) => {
    const counts: number[] = []
    for (const tables of [4, 12]) {
      await lake.close()
      lake = await SharedLake.open((io) =>
        faultyIO(io, { before: (method, location) => void (method === 'read' && reads.push(location)) }),
      )
      await fill(tables)
      const first = await readsOf(run('t0'))
      expect(first.length).toBeGreaterThan(tables)
      await run('t1')()
      laterBy(60 * MINUTE_MS)
      const next = await readsOf(run('t2'))
      // expiries move t0 and t1
      expect(next.filter((file) => !/\/db\/t[0-2]\//.test(file))).toEqual([])
      counts.push(next.length)
      vi.useRealTimers()
    }
    const [few, many] = counts
    expect(many).toBe(few)
  })

  it('reads only the tables that have moved', async () => {
    await fill(6)
    for (const name of ['t0', 't5']) await orphans(name)()
    await lake.setProperties('t4', { a: 'b' })
    const next = await readsOf(orphans('t1'))
    expect(new Set(next.map((file) => /\/db\/(t\d)\//.exec(file)?.[1]))).toEqual(new Set(['t1', 't4']))
  })

  it('sees a table that another engine has just created in its folder, also in another catalog of the database', async () => {
    await fill(3)
    await orphans('t0')()
    const { metadata, metadataLocation } = await lake.create('elsewhere')
    for (const catalogName of ['test', 'other']) {
      const name = `${catalogName}_new`
      await lake.setLocation('elsewhere', `${lake.warehouse}/db/t0/data`)
      const moved = await lake.load('elsewhere')
      await lake.catalog.dropTable(lake.id('elsewhere'))
      await lake.plant(name, moved.metadataLocation, catalogName)
      await expect(orphans('t0')()).rejects.toMatchObject({
        code: 'TABLES_OVERLAP',
        message: expect.stringContaining(`db.${name}`),
      })
      if (catalogName === 'test') await lake.catalog.dropTable(lake.id(name))
      await lake.plant('elsewhere', metadataLocation)
    }
    expect(metadata.location).toBe(`${lake.warehouse}/db/elsewhere`)
  })

  it('notices when a known folder of another table becomes a link into its own', async () => {
    await fill(3)
    await orphans('t0')()
    await mkdir(`${lake.warehouse}/db/t0/data/inner`, { recursive: true })
    await lake.setProperties('t1', { 'write.data.path': `${lake.warehouse}/files` })
    await mkdir(`${lake.warehouse}/files`)
    await orphans('t0')()
    await rm(`${lake.warehouse}/files`, { recursive: true })
    await symlink(`${lake.warehouse}/db/t0/data/inner`, `${lake.warehouse}/files`)
    laterBy(6 * MINUTE_MS)
    await expect(orphans('t0')()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
  })
})

describe('a hadoop catalog of many tables', () => {
  let catalog: Catalog
  const id = (name: string) => ({ namespace: ['h'], name })
  const folder = (name: string) => `${lake.warehouse}/h/${name}`
  const run = (name: string) => () => runRemoveOrphans({ ...lake.run(name), catalog, identifier: id(name) })

  beforeEach(async () => {
    catalog = createHadoopCatalog({ name: 'h', warehouse: lake.warehouse, io: lake.io })
    await catalog.createNamespace(['h'])
  })

  /** A table whose versions were written some time ago. */
  async function create(name: string, properties: Readonly<Record<string, string>> = {}): Promise<Table> {
    await catalog.createTable(id(name), { schema: SCHEMA })
    const updates = [{ action: 'set-properties', updates: { a: name, ...properties } } as const]
    const table = await commitOnce(catalog, id(name), { requirements: [], updates })
    await age(name)
    return table
  }

  async function age(name: string, at = new Date(Date.now() - 60 * MINUTE_MS)): Promise<void> {
    for (const version of [1, 2]) await utimes(`${folder(name)}/metadata/v${version}.metadata.json`, at, at)
  }

  it('reads the metadata of the others once', async () => {
    for (let at = 0; at < 8; at += 1) await create(`t${at}`)
    expect((await readsOf(run('t0'))).length).toBeGreaterThan(8)
    await run('t2')()
    laterBy(60 * MINUTE_MS)
    const next = await readsOf(run('t1'))
    expect(next.filter((file) => !file.startsWith(folder('t1')))).toEqual([])
  })

  it('reads a table again that was dropped and created anew under the same version', async () => {
    await create('t0')
    await create('t1', { b: 'x'.repeat(folder('t0').length) })
    await run('t0')()
    await rename(folder('t1'), `${lake.folder}/dropped`)
    await create('t1', { 'write.data.path': `${folder('t0')}/data` })
    await age('t1', new Date(Date.now() - 30 * MINUTE_MS))
    await expect(run('t0')()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
  })

  it('does not trust the time of a version that was written a moment ago', async () => {
    await create('t0')
    await create('t1')
    const now = new Date()
    await age('t1', now)
    await run('t0')()
    await rename(folder('t1'), `${lake.folder}/dropped`)
    await create('t1', { 'write.data.path': `${folder('t0')}/data` })
    await age('t1', now)
    await expect(run('t0')()).rejects.toMatchObject({ code: 'TABLES_OVERLAP' })
  })
})
