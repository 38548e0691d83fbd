import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHadoopCatalog } from '../../src/catalog/hadoop/catalog.ts'
import { createRestCatalog } from '../../src/catalog/rest/catalog.ts'
import { restSettings } from '../../src/catalog/rest/settings.ts'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import { FakeRestServer } from './rest/rest-server.ts'
import { SCHEMA } from './support-files.ts'

let folder: string
let server: FakeRestServer
beforeEach(async () => {
  folder = await mkdtemp(`${tmpdir()}/checks-`)
  server = await FakeRestServer.start()
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

function openRest() {
  const warehouse = server.addWarehouse(folder)
  const settings = { catalogType: 'rest', catalogName: 'r', warehouse, uri: server.uri, extraProps: {} } as const
  const io = new LocalFileIO({ roots: [folder] })
  return createRestCatalog({ settings: restSettings(settings, () => undefined), io, roots: [folder] })
}

const openHadoop = () => createHadoopCatalog({ name: 'h', warehouse: folder, io: new LocalFileIO({ roots: [folder] }) })

describe.each([
  ['a REST catalog', openRest],
  ['a hadoop catalog', openHadoop],
])('the list of a check of %s', (_, open) => {
  it('has all namespaces and tables, or the first ones when the time is over', async () => {
    const catalog = open()
    for (const namespace of [['a'], ['a', 'deep'], ['b']]) {
      await catalog.createNamespace(namespace)
      await catalog.createTable({ namespace, name: 't' }, { schema: SCHEMA })
    }
    const all = await catalog.checks.list?.(60_000)
    expect(all).toMatchObject({ namespaces: 3, isComplete: true })
    expect(all?.tables.toSorted((x, y) => x.namespace.length - y.namespace.length)).toEqual([
      { namespace: ['a'], name: 't' },
      { namespace: ['b'], name: 't' },
      { namespace: ['a', 'deep'], name: 't' },
    ])
    const first = await catalog.checks.list?.(-1)
    expect(first?.isComplete).toBe(false)
    expect(first?.tables.length).toBeLessThan(3)
  })
})

it('the list of a check of an empty folder is complete', async () => {
  await mkdir(`${folder}/empty`)
  expect(await openHadoop().checks.list?.(60_000)).toEqual({ namespaces: 1, tables: [], isComplete: true })
})
