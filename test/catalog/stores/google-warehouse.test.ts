import { afterEach, afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLab, type StreamLab } from '../../streaming/support.ts'
import { FakeGcs } from '../../support/network/fake-gcs.ts'
import { storedWarehouseBehaviour } from './stored-warehouse.ts'

describe('a warehouse in Google Cloud Storage', { timeout: 300_000 }, () => {
  let store: FakeGcs
  let lab: StreamLab
  let settings: { extra_props: Record<string, string> } & Record<string, unknown>
  beforeAll(async () => {
    store = await FakeGcs.start('lake')
    lab = await openLab()
    settings = {
      catalog_type: 'sql',
      catalog_name: 'house',
      warehouse: 'gs://lake/warehouse',
      uri: `sqlite:///${lab.service.folder}/google.db`,
      create: true,
      extra_props: {
        'gcs.service.host': store.endpoint,
        'gcs.project-id': 'house',
        'gcs.oauth2.token': store.issueToken(),
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

  it('is shown with its address and without its token', async () => {
    const { body } = await lab.service.get('/api/config')
    expect(body.extra_props).toEqual({
      'gcs.service.host': store.endpoint,
      'gcs.project-id': 'house',
      'gcs.oauth2.token': '***',
    })
  })

  it.each<[string, { change?: Record<string, unknown>; properties?: Record<string, string> }, number, RegExp]>([
    ['a hadoop catalog', { change: { catalog_type: 'hadoop', uri: null } }, 422, /lose commits/],
    ['a missing bucket', { change: { warehouse: 'gs://pond/w' } }, 503, /no such bucket/],
    ['a short location', { change: { warehouse: 'gs:/lake/warehouse' } }, 400, /use gs:\/\/bucket/],
    ['a wrong token', { properties: { 'gcs.oauth2.token': 'ya29.other' } }, 503, /the token is missing, unknown/],
    ['an invalid endpoint', { properties: { 'gcs.service.host': 'store:9000' } }, 400, /gcs\.service\.host/],
    [
      'a kept token for another host',
      { properties: { 'gcs.oauth2.token': '***', 'gcs.service.host': 'https://store.example' } },
      400,
      /must be sent again: extra_props\.gcs\.service\.host changes/,
    ],
    [
      'a kept token for another host by its older name',
      { properties: { 'gcs.oauth2.token': '***', 'gcs.endpoint': 'https://store.example' } },
      400,
      /must be sent again: extra_props\.gcs\.endpoint changes/,
    ],
  ])('is not replaced by %s', async (_, { change, properties }, status, message) => {
    const { status: answered, body } = await configure(change, properties)
    const text = JSON.stringify([body.detail, body.errors])
    expect([answered, text]).toEqual([status, expect.stringMatching(message)])
    expect(text).not.toMatch(/ya29/)
    expect((await lab.service.get('/api/config')).body.warehouse).toBe('gs://lake/warehouse')
  })

  storedWarehouseBehaviour(() => ({
    lab,
    setFault: (fault) => {
      store.fault = fault
    },
  }))
})
