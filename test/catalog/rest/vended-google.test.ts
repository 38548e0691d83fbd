import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { GoogleFileIO } from '../../../src/iceberg/io/google/file-io.ts'
import { fixedCredentials } from '../../../src/iceberg/io/objects/credential-source.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { FakeGcs } from '../../support/network/fake-gcs.ts'
import { numbered, openLab } from '../../streaming/support.ts'
import { FakeRestServer } from './rest-server.ts'
import { restStore } from './rest-support.ts'

const HOUR_MS = 3_600_000
const A = { namespace: ['s'], name: 'a' }
const B = { namespace: ['s'], name: 'b' }
const bytes = new TextEncoder().encode('rows')
const schema = { schemaId: 0, identifierFieldIds: [], fields: [] }

let store: FakeGcs
let server: FakeRestServer
let warehouse: string
let folder: string
let issued: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vended-'))
  store = await FakeGcs.start('lake', 'pond')
  server = await FakeRestServer.start()
  issued = []
  const credentials = fixedCredentials({ token: store.issueToken() })
  const settings = { endpoint: store.endpoint, credentials }
  warehouse = server.addWarehouse('gs://lake/wh', new GoogleFileIO({ settings, roots: ['gs://lake'] }))
  server.options = { lend }
})
afterEach(async () => {
  await Promise.all([server.close(), store.close()])
  await rm(folder, { recursive: true, force: true })
})

/** A new token for names that begin with the prefix. */
function properties(prefix: string): Record<string, string> {
  const token = store.issueToken(HOUR_MS, prefix)
  issued.push(token)
  return {
    'gcs.service.host': store.endpoint,
    'gcs.oauth2.token': token,
    'gcs.oauth2.token-expires-at': String(Date.now() + HOUR_MS),
  }
}

function lend({ metadata: { location } }: Table) {
  const config = properties(`${location.slice('gs://'.length)}/`)
  return { 'storage-credentials': [{ prefix: `${location}/`, config }] }
}

async function open(extraProps: Record<string, string> = {}): Promise<Catalog> {
  const catalog = restStore({ uri: server.uri, warehouse, folder, extraProps, catalog: { roots: [] } }).open()
  await catalog.createNamespace(['s'])
  return catalog
}

const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error)

describe('tokens that a catalog lends for Google Cloud Storage', () => {
  it('serve the files of their table only', async () => {
    const catalog = await open()
    const [a, b] = await Promise.all([A, B].map((name) => catalog.createTable(name, { schema })))
    const before = store.calls.length
    await a!.io.create(`${a!.metadata.location}/data/1`, bytes)
    await b!.io.create(`${b!.metadata.location}/data/1`, bytes)
    expect(store.signers.slice(before).toSorted()).toEqual(issued.toSorted())
    const error = await failure(a!.io.read(`${b!.metadata.location}/data/1`))
    expect(String(error)).toMatch(/no credentials for .* of s\.a; it has only those for "gs:/)
    expect(store.calls).toHaveLength(before + 2)
  })

  it('are chosen by the longest prefix, beside keys for S3', async () => {
    const catalog = await open()
    server.options = {
      lend: ({ metadata: { location } }) => ({
        config: properties(''),
        'storage-credentials': [
          { prefix: location, config: properties('') },
          { prefix: `${location}/data`, config: properties('') },
          { prefix: location, config: { 's3.access-key-id': 'a', 's3.secret-access-key': 'b' } },
        ],
      }),
    }
    const { io, metadata } = await catalog.createTable(A, { schema })
    const before = store.signers.length
    await io.create(`${metadata.location}/data/1`, bytes)
    await io.create(`${metadata.location}/database`, bytes)
    await io.create('gs://lake/elsewhere', bytes)
    const [everywhere, table, data] = issued
    expect(store.signers.slice(before)).toEqual([data, table, everywhere])
    await expect(io.read('gs://pond/a')).rejects.toThrow(/outside of the folders/)
  })

  it('are renewed when the store refuses them, once for concurrent reads', async () => {
    server.options = { lend, lendsAlone: true }
    const { io, metadata } = await (await open()).createTable(A, { schema })
    await io.create(`${metadata.location}/data/1`, bytes)
    store.tokens.delete(issued[0]!)
    const reads = [1, 2, 3].map(() => io.read(`${metadata.location}/data/1`))
    expect((await Promise.all(reads)).map(({ length }) => length)).toEqual([4, 4, 4])
    expect(issued).toHaveLength(2)
  })

  it('are replaced by those of the same prefix', async () => {
    server.options = {
      lend: ({ metadata: { location } }) => ({
        'storage-credentials': ['data', 'metadata'].map((part) => {
          return { prefix: `${location}/${part}`, config: properties(`${location.slice('gs://'.length)}/${part}/`) }
        }),
      }),
    }
    const { io, metadata } = await (await open()).createTable(A, { schema })
    await io.create(`${metadata.location}/data/1`, bytes)
    await io.create(`${metadata.location}/metadata/1`, bytes)
    for (const token of issued) store.tokens.delete(token)
    expect(await io.read(`${metadata.location}/metadata/1`)).toEqual(bytes)
    expect(await io.read(`${metadata.location}/data/1`)).toEqual(bytes)
  })

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'an address of another kind',
      { 'gcs.service.host': 'file:///etc' },
      /invalid property for s\.a: gcs\.service\.host must/,
    ],
    ['an address without encryption', { 'gcs.service.host': 'http://store.example' }, /must begin with https/],
    ['a token with a line break', { 'gcs.oauth2.token': 'ya29.secret\r\nx: y' }, /gcs\.oauth2\.token must be a bearer/],
  ])('are refused for %s', async (_, config, message) => {
    server.options = {
      lend: () => ({ 'storage-credentials': [{ prefix: 'gs', config: { ...properties(''), ...config } }] }),
    }
    const { io, metadata } = await (await open()).createTable(A, { schema })
    const error = await failure(io.create(`${metadata.location}/data/1`, bytes))
    expect(String(error)).toMatch(message)
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/secret/)
  })

  it('are missing, which is said, if the catalog lends none', async () => {
    server.options = {}
    const { io, metadata } = await (await open()).createTable(A, { schema })
    await expect(io.read(`${metadata.location}/data/1`)).rejects.toThrow(
      /no credentials for gs:.*: add the location to/,
    )
  })
})

it('a service compacts with lent tokens that are revoked again and again, and shows none', async () => {
  const lines: string[] = []
  const lab = await openLab({ onLog: (line) => lines.push(line), env: { LOG_LEVEL: 'debug' } })
  const body = { catalog_type: 'rest', catalog_name: 'rest', uri: server.uri, warehouse, extra_props: {} }
  expect((await lab.service.call('PUT', '/api/config', { body })).status).toBe(200)
  await lab.catalog().createNamespace(['s'])
  await lab.createTable('s.a', [
    ['id', 'long'],
    ['name', 'string'],
  ])
  for (let file = 0; file < 3; file += 1) await lab.append('s.a', numbered(file * 10, file * 10 + 10))
  const rows = await lab.rows('s.a')
  let calls = 0
  store.fault = () => {
    calls += 1
    if (calls % 7 === 0) for (const token of issued) store.tokens.delete(token)
    return undefined
  }
  const compacted = await lab.service.post('/api/compact', { table: 's.a', min_input_files: 2 })
  expect(JSON.parse(compacted.body.details_json)).toMatchObject({ rewritten_data_files_count: 3 })
  expect(await lab.rows('s.a')).toEqual(rows)
  expect([...lines, JSON.stringify(compacted)].join('\n')).not.toMatch(/fake-secret/)
  await lab.close()
})
