import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Catalog } from '../../../src/catalog/catalog.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { onlyStores } from '../../../src/catalog/rest/file-io.ts'
import { restSettings } from '../../../src/catalog/rest/settings.ts'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { addColumn, dropColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { stageAppend } from '../../../src/iceberg/update/stage/stage-append.ts'
import type { CatalogStore } from '../catalog-behaviour.ts'
import { FakeRestServer, type Misbehaviour } from './rest-server.ts'
import { restStore, type RestStoreOptions } from './rest-support.ts'
import { commitOnce, createEvents, EVENTS, filesBelow, SCHEMA, setProperty } from '../support-files.ts'
import { until } from '../../support/waiting.ts'

const COMMIT = /^POST .*\/tables\/events$/
const LOAD = /^GET .*\/tables\/events$/
const CONFIG = /^GET .*\/v1\/config/
const SELL = /^POST .*\/oauth\/tokens$/
/** Runtimes repeat a read request when a kept-alive connection is closed. */
const CLIENT_REPEATS = 5
const NO_RETRIES = { retries: { count: 0 } }

let server: FakeRestServer
let folder: string

beforeEach(async () => {
  server = await FakeRestServer.start()
  folder = mkdtempSync(join(tmpdir(), 'rest-catalog-'))
})

afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function newStore(options: Partial<RestStoreOptions> = {}): CatalogStore {
  const warehouse = server.addWarehouse(join(folder, 'warehouse'))
  return restStore({ uri: server.uri, warehouse, folder, ...options })
}

/** Adds a snapshot without data files, whose manifest list is one of our files. */
function append(operationId = 'op-1') {
  return (table: Table) => stageAppend(table, { files: [], operationId })
}

async function snapshotsOf(catalog: Catalog): Promise<number> {
  return (await catalog.loadTable(EVENTS)).metadata.snapshots.length
}

/** All text in an error, including its causes. */
function everythingOf(error: unknown): string {
  const own =
    error instanceof Error ? [error.message, error.stack, JSON.stringify(error), everythingOf(error.cause)] : []
  return own.join('\n')
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  const [settled] = await Promise.allSettled([work])
  if (settled.status === 'fulfilled') throw new Error('it did not fail')
  return settled.reason as Error
}

describe('a commit without a usable answer', () => {
  const APPLIED: readonly Misbehaviour[] = [
    { kind: 'apply-then-cut' },
    { kind: 'apply-then-garbage' },
    ...[500, 502, 503, 504, 408].map((status) => ({ kind: 'apply-then-status' as const, status })),
    { kind: 'apply-then-status', status: 409 }, // the answer to a proxy that repeats the request
    { kind: 'apply-then-status', status: 202 },
  ]

  it.each(APPLIED)('that was applied is found in the table, and is sent once: %j', async (misbehaviour) => {
    const catalog = newStore().open()
    await createEvents(catalog)
    await catalog.ping() // leaves a connection that can be reused
    server.fail(COMMIT, misbehaviour)
    const { table, attempts } = await commitTable(catalog, EVENTS, append())
    expect(attempts).toBe(1)
    expect(server.seen(COMMIT)).toHaveLength(1)
    expect(table.metadata.snapshots).toHaveLength(1)
    const [snapshot] = table.metadata.snapshots
    expect(await table.io.stat(snapshot?.manifestList ?? '')).toBeDefined()
    expect(await planFiles(table)).toEqual([])
  })

  const NOT_APPLIED: readonly Misbehaviour[] = [
    { kind: 'cut' },
    ...[500, 502, 503, 504].map((status) => ({ kind: 'status' as const, status })),
    { kind: 'status', status: 200, body: '{}' },
    { kind: 'huge' },
  ]

  it.each(NOT_APPLIED)('that cannot be verified stays unknown, and nothing is deleted: %j', async (misbehaviour) => {
    const store = newStore({ catalog: { outcomeWaitsMs: [5], limits: { tableBytes: 1_000_000 } } })
    const catalog = store.open()
    await createEvents(catalog)
    server.fail(COMMIT, misbehaviour)
    const failure = await failureOf(commitTable(catalog, EVENTS, append()))
    expect(failure).toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    expect(server.seen(COMMIT)).toHaveLength(1)
    const files = await filesBelow(store.io, store.warehouse)
    expect(files.filter((file) => file.endsWith('.avro'))).not.toEqual([])
    expect(await snapshotsOf(catalog)).toBe(0)
  })

  it('that timed out is checked, and found when it is applied late', async () => {
    const where = { uri: server.uri, warehouse: server.addWarehouse(join(folder, 'warehouse')) }
    const impatient = { outcomeWaitsMs: [20, 20, 20, 20, 2000], limits: { changeMs: 60 } }
    const store = restStore({ ...where, folder, catalog: impatient })
    const catalog = store.open()
    await createEvents(restStore({ ...where, folder }).open())
    let land = (): void => {}
    server.fail(COMMIT, { kind: 'hold', until: new Promise((resolve) => (land = resolve)) })
    const committing = commitTable(catalog, EVENTS, append())
    const looks = server.seen(LOAD).length
    await until(() => server.seen(LOAD).length >= looks + 3)
    land()
    expect((await committing).table.metadata.snapshots).toHaveLength(1)
  })

  it('is a conflict when others have changed the state that it requires', async () => {
    const store = newStore()
    const [catalog, rival] = [store.open(), store.open()]
    await createEvents(catalog)
    await commitTable(catalog, EVENTS, append('op-0'))
    const overtake = async (): Promise<void> => void (await commitTable(rival, EVENTS, append('op-2')))
    server.fail(COMMIT, { kind: 'run', work: overtake, cut: true })
    const { attempts, table } = await commitTable(catalog, EVENTS, append('op-1'))
    expect(attempts).toBe(2)
    const operations = table.metadata.snapshots.map(({ summary }) => summary['lockhouse.operation-id'])
    expect(operations).toEqual(['op-0', 'op-2', 'op-1'])
  })

  it('stays unknown when the log no longer reaches back to its base', async () => {
    const store = newStore()
    const [catalog, rival] = [store.open(), store.open()]
    await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, append('op-0'))
    const base = table.metadata.currentSnapshotId ?? 0n
    const overtake = async (): Promise<void> => {
      await commitTable(rival, EVENTS, append('op-2'))
      const removal = { action: 'remove-snapshots', 'snapshot-ids': [base] } as const
      await commitOnce(rival, EVENTS, { requirements: [], updates: [removal] })
    }
    server.fail(COMMIT, { kind: 'run', work: overtake, cut: true })
    const failure = await failureOf(commitTable(catalog, EVENTS, append('op-1')))
    expect(failure).toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
  })

  it('that adds no snapshot is recognized by its effect', async () => {
    const catalog = newStore().open()
    await createEvents(catalog)
    server.fail(COMMIT, { kind: 'apply-then-cut' })
    const { table } = await commitTable(catalog, EVENTS, setProperty('a', '1'))
    expect(table.metadata.properties).toMatchObject({ a: '1' })
    server.fail(COMMIT, { kind: 'cut' })
    const failure = failureOf(commitTable(catalog, EVENTS, setProperty('b', '1')))
    expect(await failure).toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
  })

  it('is not a commit when the server is unreachable or refuses the request', async () => {
    const store = newStore()
    const catalog = store.open()
    await createEvents(catalog)
    for (const [status, code] of [
      [400, 'INVALID_ARGUMENT'],
      [403, 'IO_FAILED'],
      [404, 'NO_SUCH_TABLE'],
      [406, 'UNSUPPORTED'],
      [429, 'IO_FAILED'],
      [302, 'IO_FAILED'],
    ] as const) {
      server.fail(COMMIT, { kind: 'status', status })
      expect(await failureOf(commitTable(catalog, EVENTS, append()))).toMatchObject({ code })
    }
    expect((await filesBelow(store.io, store.warehouse)).filter((file) => file.endsWith('.avro'))).toEqual([])
    const table = await catalog.loadTable(EVENTS)
    const change = await append()(table)
    await server.close()
    await failureOf(catalog.loadTable(EVENTS)) // discovers that the connection is closed
    expect(await failureOf(commitOnce(catalog, EVENTS, change))).toMatchObject({ code: 'IO_FAILED' })
    server = await FakeRestServer.start()
  })
})

describe('a conflict', () => {
  it('is retried on the fresh table, and leaves no file of the lost attempt', async () => {
    const store = newStore()
    const [catalog, rival] = [store.open(), store.open()]
    await createEvents(catalog)
    server.fail(COMMIT, { kind: 'run', work: async () => void (await commitTable(rival, EVENTS, append('rival'))) })
    const { table, attempts } = await commitTable(catalog, EVENTS, append('ours'))
    expect(attempts).toBe(2)
    expect(table.metadata.snapshots).toHaveLength(2)
    const avro = (await filesBelow(store.io, store.warehouse)).filter((file) => file.endsWith('.avro'))
    expect(avro.sort()).toEqual(table.metadata.snapshots.map(({ manifestList }) => manifestList).sort())
  })

  it('keeps a tag that was created after the removal of its snapshot was planned', async () => {
    const store = newStore()
    const catalog = store.open()
    await createEvents(catalog)
    const { table } = await commitTable(catalog, EVENTS, append('op-1'))
    const id = table.metadata.currentSnapshotId ?? 0n
    await commitTable(catalog, EVENTS, append('op-2'))
    const tag = { action: 'set-snapshot-ref', 'ref-name': 'kept', type: 'tag', 'snapshot-id': id } as const
    await commitOnce(catalog, EVENTS, { requirements: [], updates: [tag] })
    const removal = { requirements: [], updates: [{ action: 'remove-snapshots', 'snapshot-ids': [id] }] } as const
    const sent = server.seen(COMMIT).length
    expect(await failureOf(commitOnce(catalog, EVENTS, removal))).toMatchObject({ code: 'COMMIT_CONFLICT' })
    expect(server.seen(COMMIT)).toHaveLength(sent)
  })
})

describe('a new schema', () => {
  it('is sent with the highest field id that the table ever had, which Nessie needs', async () => {
    const catalog = newStore().open()
    const { metadata } = await createEvents(catalog)
    const added = addColumn(metadata, { name: 'note', type: { kind: 'string' } })
    const table = await commitOnce(catalog, EVENTS, added)
    await commitOnce(catalog, EVENTS, dropColumn(table.metadata, { name: 'note' }))
    const sent = server.seen(COMMIT).map(({ body }) => JSON.parse(body).updates[0]['last-column-id'])
    expect(sent).toEqual([3, 3])
  })
})

describe('reading', () => {
  it('waits for a busy server for a reasonable time', async () => {
    const catalog = newStore({ catalog: { limits: { retries: 2, retryWaitMs: 1500 } } }).open()
    await createEvents(catalog)
    server.fail(LOAD, { kind: 'status', status: 429, headers: { 'Retry-After': '0' } })
    server.fail(LOAD, { kind: 'status', status: 503, headers: { 'Retry-After': new Date(Date.now()).toUTCString() } })
    await catalog.loadTable(EVENTS)
    expect(server.seen(LOAD)).toHaveLength(3)
    for (let i = 0; i < 3; i++) server.fail(LOAD, { kind: 'status', status: 503, headers: { 'Retry-After': '0' } })
    expect(await failureOf(catalog.loadTable(EVENTS))).toMatchObject({ code: 'IO_FAILED', status: 503 })
    expect(server.seen(LOAD)).toHaveLength(6)
    server.fail(LOAD, { kind: 'status', status: 503, headers: { 'Retry-After': '3600' } })
    expect(await failureOf(catalog.loadTable(EVENTS))).toMatchObject({ code: 'IO_FAILED', status: 503 })
    expect(server.seen(LOAD)).toHaveLength(7)
  })

  it.each<Misbehaviour>([
    { kind: 'hang' },
    { kind: 'huge' },
    { kind: 'cut' },
    { kind: 'status', status: 200, body: '<html>' },
    { kind: 'status', status: 200, body: '[]' },
    { kind: 'status', status: 200, body: '{"metadata-location": "/x", "metadata": {"format-version": 2}}' },
    { kind: 'status', status: 200, body: '{"metadata": {}}' },
    { kind: 'status', status: 500, body: `{"error": {"message": "${'x'.repeat(200_000)}"}}` },
  ])('ends with an error when the answer is invalid: %#', async (misbehaviour) => {
    const where = { uri: server.uri, warehouse: server.addWarehouse(join(folder, 'warehouse')), folder }
    await createEvents(restStore(where).open())
    const catalog = restStore({ ...where, catalog: { limits: { readMs: 300, tableBytes: 1_000_000 } } }).open()
    for (let i = 0; i < CLIENT_REPEATS; i++) server.fail(LOAD, misbehaviour)
    const failure = await failureOf(catalog.loadTable(EVENTS))
    expect(isIcebergError(failure)).toBe(true)
    expect(failure.message.length).toBeLessThan(1000)
  })

  it('follows pages, and refuses a list with a cycle', async () => {
    const catalog = newStore().open()
    server.options = { pageLimit: 2 }
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) await catalog.createNamespace([name, 'below'])
    for (const name of names) await catalog.createTable({ namespace: ['a', 'below'], name }, { schema: SCHEMA })
    expect(await catalog.listNamespaces()).toEqual(names.flatMap((name) => [[name], [name, 'below']]))
    expect((await catalog.listTables()).map(({ name }) => name)).toEqual(names)
    const circle = { kind: 'status', status: 200, body: '{"identifiers": [], "next-page-token": "1"}' } as const
    for (let i = 0; i < 2; i++) server.fail(/^GET .*\/tables\?/, circle)
    expect(await failureOf(catalog.listTables(['a', 'below']))).toMatchObject({ code: 'IO_FAILED' })
  })

  it('uses the namespace separator that the server configures', async () => {
    server.options = { separator: '%2E' }
    const catalog = newStore().open()
    await catalog.createNamespace(['a b', 'ü'])
    const table = await catalog.createTable({ namespace: ['a b', 'ü'], name: 't' }, { schema: SCHEMA })
    expect((await catalog.loadTable(table.identifier)).metadataLocation).toBe(table.metadataLocation)
    expect(server.seen(/GET .*\/namespaces\/a%20b%2E%C3%BC\/tables\/t$/)).toHaveLength(1)
    expect(await catalog.listTables()).toEqual([table.identifier])
  })

  it('hides names that are not valid identifiers', async () => {
    const catalog = newStore().open()
    await catalog.createNamespace(['db'])
    const body = '{"identifiers": [{"namespace": ["db"], "name": "a.b"}, {"namespace": ["db"], "name": "ok"}]}'
    server.fail(/^GET .*\/tables\?/, { kind: 'status', status: 200, body })
    expect(await catalog.listTables(['db'])).toEqual([{ namespace: ['db'], name: 'ok' }])
    server.fail(/^GET .*\/namespaces\?/, {
      kind: 'status',
      status: 200,
      body: '{"namespaces": [["x", "y"], ["db"], ["a.b"]]}',
    })
    expect(await catalog.listNamespaces()).toEqual([['db']])
  })

  it('locates a table by its entity tag if the server supports it', async () => {
    const store = newStore()
    const without = store.open()
    await createEvents(without)
    await without.loadTable(EVENTS)
    expect(without.locateTable).toBeUndefined()
    server.options = { entityTags: true }
    const catalog = store.open()
    const { metadataLocation } = await catalog.loadTable(EVENTS)
    const before = server.requests.length
    expect(await catalog.locateTable?.(EVENTS)).toBe(metadataLocation)
    expect(await catalog.locateTable?.(EVENTS)).toBe(metadataLocation)
    expect(server.requests.slice(before).map(({ headers }) => headers['if-none-match'])).toEqual([
      expect.any(String),
      expect.any(String),
    ])
    const { table } = await commitTable(without, EVENTS, setProperty('a', '1'))
    expect(await catalog.locateTable?.(EVENTS)).toBe(table.metadataLocation)
    await without.dropTable(EVENTS)
    expect(await failureOf(catalog.locateTable?.(EVENTS) ?? Promise.resolve())).toMatchObject({ code: 'NO_SUCH_TABLE' })
  })
})

describe('a table with files elsewhere', () => {
  it('can be displayed, and operations that need its files are refused with the scheme', async () => {
    const catalog = newStore().open()
    const { metadata } = await createEvents(catalog)
    const location = 's3://bucket/db/events'
    const elsewhere = { ...metadata.json, location }
    const body = JSON.stringify({ 'metadata-location': `${location}/metadata/0.json`, metadata: elsewhere })
    server.fail(LOAD, { kind: 'status', status: 200, body })
    const table = await catalog.loadTable(EVENTS)
    expect(table.metadata.location).toBe(location)
    const refusal = { code: 'UNSUPPORTED', message: expect.stringContaining('s3:') as string }
    await expect(table.io.read(table.metadataLocation)).rejects.toMatchObject(refusal)
    await expect(table.io.list(location)[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal)
    expect(() => table.io.localPath(location)).toThrow('s3:')
    await expect(table.io.read(join(tmpdir(), 'elsewhere.avro'))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('files', () => {
  it('are served from the configured stores, in every spelling, and from no other', async () => {
    const io = onlyStores(['s3'], new MemoryFileIO())
    for (const location of ['s3://b/x', 's3a://b/y', 'file:///tmp/z', '/tmp/u']) {
      await io.write(location, new Uint8Array(1))
      expect(await io.stat(location)).toMatchObject({ sizeBytes: 1 })
      await io.delete(location)
    }
    for (const location of ['gs://b/x', 'abfss://c@a/x', 'hdfs://h/x']) {
      await expect(io.read(location)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    }
  })
})

describe('registration', () => {
  it('sends no request for a file that belongs to another table', async () => {
    const catalog = newStore().open()
    const { metadataLocation } = await createEvents(catalog)
    const other = { namespace: ['db'], name: 'other' }
    expect(await failureOf(catalog.registerTable(other, metadataLocation))).toMatchObject({ code: 'TABLE_EXISTS' })
    expect(server.seen(/register/)).toEqual([])
  })

  it.each<Misbehaviour>([{ kind: 'apply-then-cut' }, { kind: 'status', status: 502 }])(
    'does not report a table as not created when it may have been created: %j',
    async (misbehaviour) => {
      const catalog = newStore().open()
      await catalog.createNamespace(['db'])
      server.fail(/^POST .*\/tables$/, misbehaviour)
      const failure = await failureOf(catalog.createTable(EVENTS, { schema: SCHEMA }))
      expect(failure).toMatchObject({ code: 'COMMIT_STATE_UNKNOWN' })
    },
  )
})

describe('credentials', () => {
  const SECRET = 'dont-tell-anybody'

  it('sends a token from the environment, and the headers from the settings', async () => {
    server.tokens.add('tok-1')
    const extraProps = { token: 'env:CATALOG_TOKEN', 'header.X-Team': 'env:TEAM' }
    const store = newStore({ extraProps, env: { CATALOG_TOKEN: 'tok-1', TEAM: 'lake' } })
    await store.open().ping()
    expect(server.requests.every(({ headers }) => headers['x-team'] === 'lake')).toBe(true)
  })

  it('requests a token with the credential, once for all waiting callers', async () => {
    server.options = { credential: `me:${SECRET}` }
    const catalog = newStore({ extraProps: { credential: `me:${SECRET}`, scope: 'PRINCIPAL_ROLE:ALL' } }).open()
    await Promise.all(Array.from({ length: 5 }, () => catalog.ping()))
    expect(server.seen(SELL)).toHaveLength(1)
    expect(new URLSearchParams(server.seen(SELL)[0]?.body).get('scope')).toBe('PRINCIPAL_ROLE:ALL')
    expect(server.requests.filter(({ body, url }) => `${url} ${body}`.includes(SECRET))).toHaveLength(1)
  })

  it.each([401, 419])('renews a token once after %i, also during a commit', async (status) => {
    server.options = { credential: `me:${SECRET}` }
    const catalog = newStore({ extraProps: { credential: `me:${SECRET}` } }).open()
    await createEvents(catalog)
    server.fail(COMMIT, { kind: 'status', status })
    await commitTable(catalog, EVENTS, append())
    expect(await snapshotsOf(catalog)).toBe(1)
    expect(server.seen(SELL)).toHaveLength(2)
    for (let i = 0; i < 2; i++) server.fail(COMMIT, { kind: 'status', status })
    const failure = await failureOf(commitTable(catalog, EVENTS, append(), NO_RETRIES))
    expect(failure).toMatchObject({ code: 'IO_FAILED', status })
    expect(server.seen(SELL)).toHaveLength(3)
    expect(await snapshotsOf(catalog)).toBe(1)
  })

  it('renews a token before it expires', async () => {
    server.options = { credential: `me:${SECRET}`, tokenLifeS: 0 }
    const catalog = newStore({ extraProps: { credential: `me:${SECRET}` } }).open()
    await catalog.ping()
    await catalog.ping()
    expect(server.seen(SELL).length).toBeGreaterThan(2)
    const taken = server.requests.map(({ headers }) => headers.authorization).filter((value) => value !== undefined)
    expect(new Set(taken).size).toBe(taken.length)
  })

  it('uses a given token first, and the credential when the token is no longer accepted', async () => {
    server.options = { credential: `me:${SECRET}` }
    server.tokens.add('given')
    const catalog = newStore({ extraProps: { token: 'given', credential: `me:${SECRET}` } }).open()
    await catalog.ping()
    expect(server.seen(SELL)).toEqual([])
    server.tokens.delete('given')
    await catalog.ping()
    expect(server.seen(SELL)).toHaveLength(1)
  })

  it('requests tokens from another address if configured, and sends it no token', async () => {
    const seller = await FakeRestServer.start()
    try {
      seller.options = { credential: `me:${SECRET}` }
      server.tokens.add('sold-1')
      const extraProps = { credential: `me:${SECRET}`, 'oauth2-server-uri': `${seller.uri}/v1/oauth/tokens` }
      await newStore({ extraProps }).open().ping()
      expect(server.requests.some(({ body }) => body.includes(SECRET))).toBe(false)
      expect(seller.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
    } finally {
      await seller.close()
    }
  })

  it.each([301, 302, 307, 308])('never follows a redirect (%i), here or for tokens', async (status) => {
    const stranger = await FakeRestServer.start()
    try {
      server.options = { credential: `me:${SECRET}` }
      const away = { kind: 'status', status, headers: { Location: `${stranger.uri}/v1/config` } } as const
      const store = newStore({ extraProps: { credential: `me:${SECRET}` } })
      server.fail(CONFIG, away)
      const failure = await failureOf(store.open().ping())
      expect(failure).toMatchObject({ code: 'IO_FAILED', message: expect.stringContaining('redirect') as string })
      server.fail(SELL, away)
      expect(await failureOf(store.open().ping())).toMatchObject({ code: 'IO_FAILED' })
      expect(stranger.requests).toEqual([])
    } finally {
      await stranger.close()
    }
  })

  it("does not follow an address from the server's configuration", async () => {
    server.tokens.add('tok-1')
    const store = newStore({ extraProps: { token: 'tok-1' } })
    server.options = { overrides: { uri: 'http://127.0.0.2:1/iceberg' } }
    expect(await failureOf(store.open().ping())).toMatchObject({ code: 'UNSUPPORTED' })
    server.options = { overrides: { uri: `${server.uri}/` } }
    await store.open().ping()
    for (const prefix of ['../x', 'a/..', 'a?b', 'a#b', 'a b']) {
      server.options = { overrides: { prefix } }
      expect(await failureOf(store.open().ping())).toMatchObject({ code: 'IO_FAILED' })
    }
  })

  it('shows no secret, even if a server repeats it', async () => {
    const token = 'tok-very-secret'
    const extraProps = { token, credential: `me:${SECRET}`, 'header.X-Key': 'key-very-secret' }
    const store = newStore({ extraProps })
    server.options = { credential: `other:${SECRET}` }
    const failures = [await failureOf(store.open().ping())]
    const message = `${token} ${SECRET} key-very-secret`
    server.tokens.add(token)
    for (const status of [400, 403, 500]) {
      server.fail(CONFIG, {
        kind: 'status',
        status,
        body: JSON.stringify({ error: { message, type: 'X', code: status } }),
      })
      failures.push(await failureOf(store.open().ping()))
    }
    for (let i = 0; i < CLIENT_REPEATS; i++) server.fail(CONFIG, { kind: 'cut' })
    failures.push(await failureOf(store.open().ping()))
    server.options = {}
    const shown = failures.map(everythingOf).join('\n')
    expect(shown).not.toContain(SECRET)
    expect(shown).not.toMatch(/very-secret/)
    expect(shown).toContain('***')
  })
})

describe('settings', () => {
  const settings = { catalogType: 'rest', catalogName: 'c', warehouse: 'w', uri: 'http://h', extraProps: {} } as const

  it.each([
    [null, /uri must be/],
    ['', /uri must be/],
    ['ftp://h/x', /uri must be/],
    ['file:///etc/passwd', /uri must be/],
    ['sqlite:///x', /uri must be/],
    ['h:8181', /uri must be/],
    ['http://u:pass-word@h', /user or a password/],
    ['http://h/?x=1', /query/],
    ['http://h/#x', /fragment/],
  ])('refuses the address %j', (uri, message) => {
    const read = (): unknown => restSettings({ ...settings, uri }, () => undefined)
    expect(read).toThrow(message)
    expect(read).not.toThrow(/pass-word/)
  })

  it.each([
    [{ token: 'a b-secret' }, /extra_props.token/],
    [{ token: 'env:MISSING' }, /extra_props.token: env:MISSING is not set/],
    [{ credential: 'me:' }, /extra_props.credential/],
    [{ credential: 'x:secret', 'oauth2-server-uri': 'ldap://h' }, /oauth2-server-uri/],
    [{ 'header.Authorization': 'x-secret' }, /header.Authorization/],
    [{ 'header.host': 'x-secret' }, /header.host/],
    [{ 'header.a b': 'x-secret' }, /header.a b/],
    [{ 'header.X': 'a\nb-secret' }, /header.X/],
  ])('refuses the properties %j', (extraProps, message) => {
    const read = (): unknown => restSettings({ ...settings, extraProps }, () => undefined)
    expect(read).toThrow(message)
    expect(read).not.toThrow(/-secret/)
  })

  it('reads and writes local files only below its folders', () => {
    const io = new LocalFileIO({ roots: [] })
    expect(() => io.localPath('/etc/passwd')).toThrow('outside')
  })
})
