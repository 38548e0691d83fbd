import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import { fixedCredentials } from '../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../src/iceberg/io/s3/file-io.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { FakeS3 } from '../../support/network/fake-s3.ts'
import type { AwsAccount } from '../../support/network/sigv4.ts'
import { FakeRestServer } from './rest-server.ts'
import { restStore } from './rest-support.ts'

const HOUR_MS = 3_600_000
const A = { namespace: ['s'], name: 'a' }
const B = { namespace: ['s'], name: 'b' }
const bytes = new TextEncoder().encode('rows')
const schema = { schemaId: 0, identifierFieldIds: [], fields: [] }

let store: FakeS3
let server: FakeRestServer
let warehouse: string
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vended-'))
  store = await FakeS3.start('lake', 'pond')
  server = await FakeRestServer.start()
  const { endpoint, credentials } = store
  const own = { endpoint, credentials: fixedCredentials(credentials), pathStyle: true, roots: ['s3://lake'] }
  warehouse = server.addWarehouse('s3://lake/wh', new S3FileIO(own))
  server.options = { lend }
})
afterEach(async () => {
  await Promise.all([server.close(), store.close()])
  await rm(folder, { recursive: true, force: true })
})

function properties({ accessKeyId, secretAccessKey, sessionToken = '', expiresAtMs }: AwsAccount) {
  return {
    's3.endpoint': store.endpoint,
    's3.access-key-id': accessKeyId,
    's3.secret-access-key': secretAccessKey,
    's3.session-token': sessionToken,
    's3.session-token-expires-at-ms': String(expiresAtMs),
  }
}

/** New credentials for the folder of the table, and no other. */
function lend({ metadata: { location } }: Table) {
  const account = store.accounts.issue({ lifeMs: HOUR_MS, prefixes: [`${location.slice('s3://'.length)}/`] })
  return { 'storage-credentials': [{ prefix: `${location}/`, config: properties(account) }] }
}

async function open(extraProps: Record<string, string> = {}): Promise<Catalog> {
  const settings = { uri: server.uri, warehouse, folder, extraProps, catalog: { roots: [] } }
  const catalog = restStore(settings).open()
  await catalog.createNamespace(['s'])
  return catalog
}

const issued = () => store.accounts.issued
const failure = (work: Promise<unknown>) => work.catch((error: unknown) => error)

describe('credentials that a catalog lends', () => {
  it('serve the files of their table only, also at the same time', async () => {
    const catalog = await open()
    const tables = await Promise.all([A, B].map((name) => catalog.createTable(name, { schema })))
    await Promise.all(
      tables.flatMap(({ io, metadata }) => [1, 2, 3].map((n) => io.create(`${metadata.location}/data/${n}`, bytes))),
    )
    const [a, b] = tables
    for (const [at, call] of store.calls.entries()) {
      const owner = issued().find(({ accessKeyId }) => accessKeyId === store.signers[at])
      if (owner !== undefined) expect(call).toContain(` ${owner.prefixes?.[0]?.slice('lake/'.length)}`)
    }
    const before = store.calls.length
    const foreign = `${b?.metadata.location}/data/1`
    expect(String(await failure(a!.io.read(foreign)))).toMatch(/no credentials for .* of s\.a; it has only those for "/)
    expect((await a!.io.deleteAll?.([foreign]))?.[0]?.reason).toMatch(/no credentials/)
    expect(store.calls).toHaveLength(before)
  })

  it('are chosen by the longest prefix', async () => {
    const catalog = await open()
    const outer = store.accounts.issue({ lifeMs: HOUR_MS })
    const inner = store.accounts.issue({ lifeMs: HOUR_MS })
    server.options = {
      lend: ({ metadata: { location } }) => ({
        config: properties(store.credentials),
        'storage-credentials': [
          { prefix: location, config: properties(outer) },
          { prefix: `${location}/data`, config: properties(inner) },
          { prefix: 'gs://lake', config: { 'gcs.oauth2.token': 'other' } },
        ],
      }),
    }
    const { io, metadata } = await catalog.createTable(A, { schema })
    const before = store.signers.length
    await io.create(`${metadata.location}/data/1`, bytes)
    await io.create(`${metadata.location}/database`, bytes)
    await io.create('s3://lake/elsewhere', bytes)
    const names = [inner, outer, store.credentials].map(({ accessKeyId }) => accessKeyId)
    expect(store.signers.slice(before)).toEqual(names)
    await expect(io.read('s3://pond/a')).rejects.toThrow(/outside of the folders/)
  })

  it('are also those in the configuration of the table, as older servers send them', async () => {
    const account = store.accounts.issue({ lifeMs: HOUR_MS })
    server.options = { lend: () => ({ config: properties(account) }) }
    const { io, metadata } = await (await open()).createTable(A, { schema })
    await io.create(`${metadata.location}/data/1`, bytes)
    expect(store.signers.at(-1)).toBe(account.accessKeyId)
  })

  it.each([true, false])(
    'are renewed before they expire and when the store refuses them (alone: %s)',
    async (alone) => {
      server.options = { lend, lendsAlone: alone }
      const { io, metadata } = await (await open()).createTable(A, { schema })
      await io.create(`${metadata.location}/data/1`, bytes)
      store.accounts.revoke(issued()[0]!)
      const reads = [1, 2, 3].map(() => io.read(`${metadata.location}/data/1`))
      expect((await Promise.all(reads)).map(({ length }) => length)).toEqual([4, 4, 4])
      expect(issued()).toHaveLength(2)
      expect(server.seen(/GET .*tables\/a\/credentials/)).toHaveLength(alone ? 1 : 0)
    },
  )

  it('are not renewed for another table of the same name', async () => {
    const catalog = await open()
    const { io, metadata } = await catalog.createTable(A, { schema })
    await io.create(`${metadata.location}/data/1`, bytes)
    await catalog.dropTable(A)
    await catalog.createTable(A, { schema })
    store.accounts.revoke(issued()[0]!)
    const error = await failure(io.read(`${metadata.location}/data/1`))
    expect(String(error)).toMatch(/Credentials for s\.a were not renewed: another table has its name now/)
  })

  it.each<[string, () => Record<string, unknown>, RegExp]>([
    [
      'another table',
      () => ({ prefix: 's3://lake/wh/s/b' }),
      /no credentials for .* only those for "s3:\/\/lake\/wh\/s\/b"/,
    ],
    [
      'a name that only begins alike',
      () => ({ prefix: 's3://lake/w' }),
      /no credentials for .* only those for "s3:\/\/lake\/w"/,
    ],
    ['another bucket', () => ({ prefix: 's3://pond' }), /no credentials for .* only those for "s3:\/\/pond"/],
    ['an invalid address', () => ({ config: { 's3.endpoint': 'file:///etc' } }), /returned an invalid s3\.endpoint/],
  ])('are refused for %s', async (_, change, message) => {
    const account = store.accounts.issue({ lifeMs: HOUR_MS })
    server.options = {
      lend: () => {
        const { config = {}, prefix = 's3' } = change() as { config?: Record<string, string>; prefix?: string }
        return { 'storage-credentials': [{ prefix, config: { ...properties(account), ...config } }] }
      },
    }
    const { io, metadata } = await (await open()).createTable(A, { schema })
    const error = await failure(io.create(`${metadata.location}/data/1`, bytes))
    expect(String(error)).toMatch(message)
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(account.secretAccessKey)
  })

  it('are asked for on load and creation only, unless a header says otherwise', async () => {
    const asked = () => server.requests.filter(({ headers }) => headers['x-iceberg-access-delegation'] !== undefined)
    const catalog = await open()
    await catalog.createTable(A, { schema })
    await catalog.loadTable(A)
    await catalog.listTables()
    await catalog.ping()
    expect(asked().map(({ method }) => method)).toEqual(['POST', 'GET'])
    const other = await open({ 'header.x-iceberg-access-delegation': 'none' })
    expect(String(await failure((await other.loadTable(A)).io.read('s3://lake/wh/x')))).toMatch(
      /allowed-locations, or let/,
    )
  })
})

describe('a service on a catalog that lends credentials', () => {
  let lab: StreamLab
  let lines: string[]
  beforeEach(async () => {
    lines = []
    lab = await openLab({ onLog: (line) => lines.push(line), env: { LOG_LEVEL: 'debug' } })
    const { body, status } = await lab.service.call('PUT', '/api/config', {
      body: { catalog_type: 'rest', catalog_name: 'rest', uri: server.uri, warehouse, extra_props: {} },
    })
    expect(status, JSON.stringify(body)).toBe(200)
    await lab.catalog().createNamespace(['s'])
  })
  afterEach(() => lab.close())

  const columns = [
    ['id', 'long'],
    ['name', 'string'],
  ] as const

  it('compacts while the credentials are revoked again and again, keeps every row, and stores no secret', async () => {
    await lab.createTable('s.a', columns)
    await lab.createTable('s.b', columns)
    for (let file = 0; file < 5; file += 1) await lab.append('s.a', numbered(file * 10, file * 10 + 10))
    const rows = await lab.rows('s.a')
    let calls = 0
    store.fault = () => {
      calls += 1
      if (calls % 7 === 0) for (const account of issued()) store.accounts.revoke(account)
      return undefined
    }
    const before = issued().length
    const answers = [
      await lab.service.get('/api/table/s.a/health'),
      await lab.service.post('/api/compact', { table: 's.a', min_input_files: 2 }),
      await lab.service.get('/api/operations'),
      await lab.service.get('/api/config'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(JSON.parse(answers[1]!.body.details_json)).toMatchObject({ rewritten_data_files_count: 5 })
    expect(issued().length - before).toBeGreaterThan(3)
    expect(await lab.rows('s.a')).toEqual(rows)
    store.fault = undefined
    server.options = { lend: () => ({ 'storage-credentials': [] }) }
    const refused = await lab.service.post('/api/compact', { table: 's.a', rewrite_all: true })
    answers.push(refused)
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('allowed-locations')])

    const home = await readdir(lab.service.folder, { recursive: true, withFileTypes: true })
    const files = home.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    const stored = await Promise.all(files.map((file) => readFile(file, 'latin1')))
    const everything = [...stored, ...lines, JSON.stringify(answers)].join('\n')
    expect(everything).toContain('s.a')
    const secrets = issued().flatMap(({ secretAccessKey, sessionToken = '' }) => [secretAccessKey, sessionToken])
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([])
  })
})
