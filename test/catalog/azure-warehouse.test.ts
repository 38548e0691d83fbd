import { afterEach, afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { deleteRow, numbered, openLab, orphansOf, type StreamLab } from '../streaming/support.ts'
import { FakeAzure } from '../support/network/fake-azure.ts'
import { stormyFaults } from '../support/network/store-answers.ts'
import { setProperty } from './support-files.ts'

describe('a warehouse in Azure Data Lake Storage', { timeout: 300_000 }, () => {
  let store: FakeAzure
  let lab: StreamLab
  let settings: { extra_props: Record<string, string> } & Record<string, unknown>
  beforeAll(async () => {
    store = await FakeAzure.start('lake')
    lab = await openLab()
    settings = {
      catalog_type: 'sql',
      catalog_name: 'house',
      warehouse: store.location('lake', 'warehouse'),
      uri: `sqlite:///${lab.service.folder}/azure.db`,
      create: true,
      extra_props: {
        'adls.endpoint': store.endpoint,
        'adls.auth.shared-key.account.name': store.account,
        'adls.auth.shared-key.account.key': store.key,
      },
    }
    const answer = await configure()
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    await lab.catalog().createNamespace(['s'])
  })
  afterEach(() => {
    store.fault = undefined
  })
  afterAll(async () => {
    await lab.close()
    await store.close()
  })

  const configure = (change: Record<string, unknown> = {}, properties: Record<string, string> = {}) =>
    lab.service.call('PUT', '/api/config', {
      body: { ...settings, ...change, extra_props: { ...settings.extra_props, ...properties } },
    })

  it('is shown with its account and without its key', async () => {
    const { body } = await lab.service.get('/api/config')
    expect(body.extra_props).toEqual({
      'adls.endpoint': store.endpoint,
      'adls.auth.shared-key.account.name': store.account,
      'adls.auth.shared-key.account.key': '***',
    })
  })

  it.each<[string, { change?: Record<string, unknown>; properties?: Record<string, string> }, number, RegExp]>([
    ['a hadoop catalog', { change: { catalog_type: 'hadoop', uri: null } }, 422, /lose commits/],
    [
      'a missing container',
      { change: { warehouse: 'abfss://pond@lakeaccount.dfs.core.windows.net/w' } },
      503,
      /no such container/,
    ],
    ['a short location', { change: { warehouse: 'abfss://lake/warehouse' } }, 400, /use abfss:\/\/container@account/],
    [
      'a wrong key',
      { properties: { 'adls.auth.shared-key.account.key': 'b3RoZXIga2V5IG9mIHRoZSBsYWtl' } },
      503,
      /is wrong/,
    ],
    ['an invalid endpoint', { properties: { 'adls.endpoint': 'store:9000' } }, 400, /adls\.endpoint/],
    ['an unset secret', { properties: { 'adls.sas-token': 'env:LAKE_NO' } }, 400, /env:LAKE_NO is not set/],
    [
      'a kept key for another account',
      {
        change: { warehouse: 'abfss://lake@other.dfs.core.windows.net/w' },
        properties: { 'adls.auth.shared-key.account.key': '***' },
      },
      400,
      /must be sent again: warehouse or .* changes/,
    ],
    [
      'a kept key for another folder of another account',
      {
        change: {},
        properties: {
          'adls.auth.shared-key.account.key': '***',
          'allowed-locations': 'abfss://lake@other.dfs.core.windows.net/w',
        },
      },
      400,
      /or extra_props\.allowed-locations changes/,
    ],
  ])('is not replaced by %s', async (_, { change, properties }, status, message) => {
    const { status: answered, body } = await configure(change, properties)
    const text = JSON.stringify([body.detail, body.errors])
    expect([answered, text]).toEqual([status, expect.stringMatching(message)])
    expect((await lab.service.get('/api/config')).body.warehouse).toBe(store.location('lake', 'warehouse'))
  })

  it('keeps its key when only a folder of the same account is added', async () => {
    const properties = {
      'adls.auth.shared-key.account.key': '***',
      'allowed-locations': store.location('lake', 'other'),
    }
    const { status, body } = await configure({}, properties)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(await lab.catalog().listNamespaces()).toEqual([['s']])
  })

  it('reports health, compacts and expires a table that keeps its rows', async () => {
    await lab.createTable('s.events', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let file = 0; file < 6; file += 1) await lab.append('s.events', numbered(file * 10, file * 10 + 10))
    await deleteRow(lab, 's.events', 59)
    const rows = await lab.rows('s.events')
    expect(rows).toHaveLength(59)
    const before = await lab.service.get('/api/table/s.events/health')
    expect(before.status, JSON.stringify(before.body)).toBe(200)
    const compacted = await lab.service.post('/api/compact', { table: 's.events', min_input_files: 2 })
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await lab.rows('s.events')).toEqual(rows)
    const older_than = new Date(Date.now() + 1000).toISOString()
    const expired = await lab.service.post('/api/expire', { table: 's.events', older_than, retain_last: 1 })
    expect(expired.status, JSON.stringify(expired.body)).toBe(200)
    const { quarantine } = JSON.parse(expired.body.details_json)
    const purged = await lab.service.call('POST', `/api/quarantine/${quarantine.id}/purge`)
    expect(purged.body).toMatchObject({ deleted_files_count: quarantine.files_count, failed_deletions_count: 0 })
    expect(await lab.rows('s.events')).toEqual(rows)
    expect(await orphansOf(await lab.load('s.events'))).toEqual([])
  })

  it('keeps every commit of concurrent writers while requests fail', async () => {
    const table = await lab.createTable('s.shared', [['id', 'long']])
    store.fault = stormyFaults(5)
    const retries = { count: 1000, minWaitMs: 1, maxWaitMs: 20 }
    const names = Array.from({ length: 12 }, (_, n) => `writer-${n}`)
    await Promise.all(
      names.map((name) => commitTable(lab.catalog(), table.identifier, setProperty(name, 'yes'), { retries })),
    )
    store.fault = undefined
    expect(Object.keys((await lab.load('s.shared')).metadata.properties)).toEqual(expect.arrayContaining(names))
  })

  it('keeps every row when a compaction meets a writer and failing requests', async () => {
    await lab.createTable('s.busy', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let file = 0; file < 4; file += 1) await lab.append('s.busy', numbered(file * 10, file * 10 + 10))
    store.fault = stormyFaults(7)
    const [compacted] = await Promise.all([
      lab.service.post('/api/compact', { table: 's.busy', min_input_files: 2 }),
      lab.append('s.busy', numbered(40, 50)),
    ])
    store.fault = undefined
    expect(compacted.status, JSON.stringify(compacted.body)).toBe(200)
    expect(await lab.rows('s.busy')).toHaveLength(50)
  })
})
