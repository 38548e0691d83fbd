import { afterEach, afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLab, type StreamLab } from '../../streaming/support.ts'
import { FakeAzure } from '../../support/network/fake-azure.ts'
import { storedWarehouseBehaviour } from './stored-warehouse.ts'

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

  storedWarehouseBehaviour(() => ({
    lab,
    setFault: (fault) => {
      store.fault = fault
    },
  }))
})
