import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { deleteRow, numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { FakeS3 } from '../../support/network/fake-s3.ts'
import { stormyFaults } from '../../support/network/store-answers.ts'
import { sleep } from '../../support/waiting.ts'
import { LONG, runs } from '../../support/effort.ts'

const ROUNDS = Number(process.env['S3_ROUNDS'] ?? runs(8, 2))

describe('a warehouse in an object store', { timeout: 300_000 }, () => {
  let store: FakeS3
  let lab: StreamLab
  let settings: { extra_props: Record<string, string> } & Record<string, unknown>
  beforeAll(async () => {
    store = await FakeS3.start('lake')
    lab = await openLab()
    settings = {
      catalog_type: 'sql',
      catalog_name: 'house',
      warehouse: 's3://lake/warehouse',
      uri: `sqlite:///${lab.service.folder}/s3.db`,
      create: true,
      extra_props: {
        's3.endpoint': store.endpoint,
        's3.access-key-id': store.credentials.accessKeyId,
        's3.secret-access-key': store.credentials.secretAccessKey,
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

  /** The store applies this many more requests, does not confirm the last one, and then is unavailable. */
  function outageAfter(requests: number): void {
    let count = 0
    store.fault = () => {
      count += 1
      if (count < requests) return undefined
      return count === requests ? 'cut-after' : 'cut-before'
    }
  }

  it('is shown with its address and without secrets', async () => {
    const { body } = await lab.service.get('/api/config')
    expect(body).toMatchObject({ warehouse: 's3://lake/warehouse', extra_props: { 's3.endpoint': store.endpoint } })
    expect(JSON.stringify(body)).not.toContain(store.credentials.secretAccessKey)
  })

  it.each<[string, { change?: Record<string, unknown>; properties?: Record<string, string> }, number, RegExp]>([
    ['a hadoop catalog', { change: { catalog_type: 'hadoop', uri: null } }, 422, /lose commits/],
    [
      'another kind of store',
      { change: { warehouse: 'oss://lake/warehouse' } },
      422,
      /oss locations are not supported/,
    ],
    ['a missing bucket', { change: { warehouse: 's3://pond/warehouse' } }, 503, /no such bucket/],
    ['an unknown access key', { properties: { 's3.access-key-id': 'AKIDOTHER' } }, 503, /check the credentials/],
    ['an invalid endpoint', { properties: { 's3.endpoint': 'store:9000' } }, 400, /s3\.endpoint/],
    ['an unset secret', { properties: { 's3.secret-access-key': 'env:LAKE_NO' } }, 400, /env:LAKE_NO is not set/],
  ])('is not replaced by %s', async (_, { change, properties }, status, message) => {
    const answer = await configure(change, properties)
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(message)])
    expect((await lab.service.get('/api/config')).body.warehouse).toBe('s3://lake/warehouse')
  })

  it('cannot contain a pipeline checkpoint', async () => {
    await lab.createTable('s.plain', [['id', 'long']])
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: 's.plain',
      sink_table: 's.plain_sink',
      create_sink_table: true,
      checkpoint_location: 's3://lake/checkpoints/plain',
      trigger_interval: '1 second',
    })
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, 'checkpoint_location'])
  })

  it(
    'keeps files that an expiry removed where they are until they are restored or their time has passed',
    LONG,
    async () => {
      await lab.createTable('s.kept', [
        ['id', 'long'],
        ['name', 'string'],
      ])
      for (let file = 0; file < 4; file += 1) await lab.append('s.kept', numbered(file * 10, file * 10 + 10))
      expect((await lab.service.post('/api/compact', { table: 's.kept', min_input_files: 2 })).status).toBe(200)
      const rows = await lab.rows('s.kept')
      const data = () => [...store.objects.keys()].filter((name) => !name.endsWith('.json')).sort()
      const before = data()
      const expire = async () => {
        const soon = new Date(Date.now() + 1000).toISOString()
        const { body } = await lab.service.post('/api/expire', { table: 's.kept', older_than: soon, retain_last: 1 })
        return JSON.parse(body.details_json)
      }
      const expired = await expire()
      expect(expired.expired_snapshots_count).toBe(4)
      expect(data()).toEqual(before)
      const restored = await lab.service.post(`/api/quarantine/${expired.quarantine.id}/restore`, {})
      expect(JSON.parse(restored.body.details_json)).toMatchObject({
        restored_snapshots_count: 4,
        missing_files_count: 0,
      })
      const again = await expire()
      const purge = `/api/quarantine/${again.quarantine.id}/purge`
      const waiting = await lab.service.post('/api/remove-orphans', { table: 's.kept', dry_run: true })
      expect(JSON.parse(waiting.body.details_json)).toMatchObject({ orphan_files_count: 0 })
      const { body: purged } = await lab.service.call('POST', purge)
      expect(purged).toMatchObject({ deleted_files_count: again.quarantine.files_count, failed_deletions_count: 0 })
      expect(data()).toHaveLength(before.length - again.quarantine.files_count)
      expect(await lab.rows('s.kept')).toEqual(rows)
    },
  )

  it('loses the files that no snapshot uses', async () => {
    await lab.createTable('s.strays', [['id', 'long']])
    await lab.append('s.strays', 'SELECT i AS c1 FROM range(10) t(i)')
    const stray = 'lake/warehouse/s/strays/data/stray.parquet'
    // in its list the store shows milliseconds, as MinIO does, elsewhere seconds
    store.objects.set(stray, { bytes: Buffer.from('rows'), modifiedAt: new Date('2026-01-02T03:04:05.678Z') })
    const { body } = await lab.service.post('/api/remove-orphans', { table: 's.strays' })
    const { orphan_files_count: count, quarantine } = JSON.parse(body.details_json)
    expect(count).toBe(1)
    expect(store.objects.has(stray)).toBe(true)
    const purged = await lab.service.call('POST', `/api/quarantine/${quarantine.id}/purge`)
    expect(purged.body).toMatchObject({ deleted_files_count: 1, failed_deletions_count: 0 })
    expect(store.objects.has(stray)).toBe(false)
  })

  it('keeps every row while the store misbehaves', LONG, async () => {
    await lab.createTable('s.events', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    let next = 0
    const outcomes: Record<string, number> = {}
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let file = 0; file < 6; file += 1) await lab.append('s.events', numbered(next, (next += 10)))
      await deleteRow(lab, 's.events', next - 1)
      const before = await lab.rows('s.events')
      if (round % 2 === 0) store.fault = stormyFaults(3 + round)
      else outageAfter(round ** 2 * 3)
      const operations: [string, object][] = [
        ['compact', { min_input_files: 2 }],
        ['expire', { older_than: new Date().toISOString(), retain_last: 1 }],
      ]
      for (const [operation, more] of operations) {
        const { status } = await lab.service.post(`/api/${operation}`, { table: 's.events', ...more })
        outcomes[`${operation} ${status}`] = (outcomes[`${operation} ${status}`] ?? 0) + 1
      }
      store.fault = undefined
      expect(await lab.rows('s.events')).toEqual(before)
    }
    console.log(`operations in an object store that misbehaves: ${JSON.stringify(outcomes)}`)
    expect(outcomes['compact 200']).toBeGreaterThan(0)
    expect(outcomes['expire 200']).toBeGreaterThan(0)
  })

  it('streams every row once while the store misbehaves', LONG, async () => {
    await lab.createTable('s.source', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.source', numbered(0, 100))
    const started = await lab.service.post('/api/pipeline/start', {
      source_table: 's.source',
      sink_table: 's.sink',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/s3-source',
      trigger_interval: '100 ms',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    for (let round = 1; round <= ROUNDS; round += 1) {
      store.fault = stormyFaults(4 + round)
      await sleep(200)
      store.fault = undefined
      await lab.append('s.source', numbered(round * 100, round * 100 + 100))
    }
    const expected = await lab.rows('s.source')
    await expect.poll(() => lab.rows('s.sink'), { timeout: 60_000, interval: 200 }).toEqual(expected)
    await lab.service.post(`/api/pipeline/${started.body.pipeline.id}/stop`, {})
  })
})
