import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Health, SchemaAnswer, SnapshotsAnswer } from './harness/answers.ts'
import { pyicebergAvailable, restServerAvailable, sparkAvailable } from './harness/environment.ts'
import { PyIceberg, type TableAnswer } from './harness/pyiceberg.ts'
import { RestServer } from './harness/rest-server.ts'
import { type CatalogSettings, Service } from './harness/service.ts'
import { SparkSession } from './harness/spark.ts'
import { type Found, until } from '../support/waiting.ts'

const suite = 'the service on a REST catalog, beside PyIceberg and Spark'
const available = restServerAvailable(suite) && pyicebergAvailable(suite) && sparkAvailable(suite)

const SECRET = 'a-word-for-nobody-else'

interface Pipeline {
  readonly id: string
  readonly state: string
  readonly error: unknown
}

describe.skipIf(!available)('a REST catalog that the service, PyIceberg and Spark share', { timeout: 300_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-rest-')) : ''
  let server: RestServer
  let service: Service
  let python: PyIceberg
  let spark: SparkSession
  let settings: CatalogSettings

  beforeAll(async () => {
    mkdirSync(`${folder}/warehouse`)
    server = await RestServer.start()
    const uri = server.uri(folder)
    settings = {
      catalog_type: 'rest',
      warehouse: `${folder}/warehouse`,
      catalog_name: 'house',
      uri,
      extra_props: { credential: `keeper:${SECRET}`, scope: 'catalog' },
    }
    python = new PyIceberg(settings)
    spark = await SparkSession.start({ scratch: `${folder}/spark`, warehouse: `${folder}/other`, restUri: uri })
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(settings)
  }, 300_000)

  afterAll(async () => {
    python?.stop()
    await spark?.stop()
    await service?.stop()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const ids = ({ rows }: TableAnswer): number[] => rows.map(({ id }) => id)
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

  async function sparkIds(table: string): Promise<number[]> {
    const [answer] = await spark.sql(`SELECT id FROM served.${table} ORDER BY id`)
    return (answer?.rows ?? []).map((row) => Number(row['id']))
  }

  const soon = <T>(what: string, check: () => Promise<T>): Promise<Found<T>> =>
    until(check, () => `${what}\n${service.log}`, 60_000)

  it('is healthy, and hides only the secrets of its settings', async () => {
    const health = await service.read<{ checks: { catalog: { status: string } } }>('/api/health')
    expect(JSON.stringify(health.checks.catalog)).toContain('ok')
    const config = await service.read<Record<string, unknown>>('/api/config')
    const extra_props = { credential: '***', scope: 'catalog' }
    expect(config).toMatchObject({ catalog_type: 'rest', uri: settings.uri, configured: true, extra_props })
    expect((await service.put('/api/config', { ...settings, extra_props })).status).toBe(200)
  })

  it('is maintained while both others read and write: compaction, expiry, columns', async () => {
    await python.change('db.events', 'create', { partitioned: true })
    for (let at = 0; at < 4; at++) await python.change('db.events', 'append', { first: at * 10, count: 10 })
    await spark.sql("INSERT INTO served.db.events SELECT id, CAST(id % 3 AS INT), 'spark' FROM range(40, 60)")
    const listed = await service.read<{ tables: { table: string }[] }>('/api/tables')
    expect(listed.tables.map(({ table }) => table)).toContain('db.events')
    const before = await service.read<Health>('/api/table/db.events/health')
    expect(before).toMatchObject({ record_count: 60, snapshot_count: 5 })

    const compacted = await service.operate('/api/compact', { table: 'db.events', rewrite_all: true })
    expect(compacted.details['rewritten_data_files_count']).toBe(before.data_file_count)
    expect(await service.read<Health>('/api/table/db.events/health')).toMatchObject({
      data_file_count: 3,
      record_count: 60,
    })
    expect(ids(await python.change('db.events', 'rows'))).toEqual(range(0, 60))
    expect(await sparkIds('db.events')).toEqual(range(0, 60))

    await service.operate('/api/rewrite-manifests', { table: 'db.events' })
    await service.operate('/api/evolve/add-column', { table: 'db.events', name: 'note', type: 'string' })
    await service.operate('/api/evolve/rename-column', { table: 'db.events', name: 'name', new_name: 'title' })
    const { columns } = await service.read<SchemaAnswer>('/api/table/db.events/schema')
    expect(columns.map(({ name }) => name)).toEqual(['id', 'part', 'title', 'note'])
    await python.change('db.events', 'append', { first: 60, count: 5 })

    const older = new Date(Date.now() + 1000).toISOString()
    const expired = await service.operate('/api/expire', { table: 'db.events', older_than: older, retain_last: 1 })
    expect(expired.details['deleted_data_files_count']).toBe(before.data_file_count)
    const { snapshots } = await service.read<SnapshotsAnswer>('/api/table/db.events/snapshots')
    expect(snapshots).toHaveLength(1)
    const { rows } = await python.change('db.events', 'rows')
    expect(rows.map(({ id }) => id)).toEqual(range(0, 65))
    expect(rows[0]).toMatchObject({ title: 'n0', note: null })
    expect(rows[64]).toMatchObject({ title: 'n64', note: 'n64' })
    expect(await sparkIds('db.events')).toEqual(range(0, 65))
    await spark.sql("UPDATE served.db.events SET title = 'last' WHERE id = 64")
    expect((await python.change('db.events', 'rows')).rows[64]).toMatchObject({ title: 'last' })
  })

  it('compacts during appends of others, and loses none of them', async () => {
    await python.change('db.busy', 'create')
    for (let at = 0; at < 6; at++) await python.change('db.busy', 'append', { first: at * 10, count: 10 })
    const compacting = [1, 2, 3].map(() => service.post('/api/compact', { table: 'db.busy', rewrite_all: true }))
    for (let at = 6; at < 12; at++) await python.change('db.busy', 'append', { first: at * 10, count: 10 })
    for (const answer of await Promise.all(compacting)) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(ids(await python.change('db.busy', 'rows'))).toEqual(range(0, 120))
    expect(await sparkIds('db.busy')).toEqual(range(0, 120))
  })

  it('runs a pipeline through a kill and a restart', async () => {
    await python.change('db.source', 'create')
    await python.change('db.source', 'append', { first: 0, count: 10 })
    const started = await service.post('/api/pipeline/start', {
      source_table: 'db.source',
      sink_table: 'db.sink',
      checkpoint_location: `${folder}/warehouse/checkpoints/one`,
      trigger_interval: '100 ms',
      create_sink_table: true,
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const { id } = started.body['pipeline'] as Pipeline
    const sinkHas = (count: number) =>
      soon(`${count} rows in the sink`, async () => {
        const answer = await python.change('db.sink', 'rows').catch(() => undefined)
        return answer !== undefined && answer.rows.length >= count && answer
      })
    expect(ids(await sinkHas(10))).toEqual(range(0, 10))
    await spark.sql("INSERT INTO served.db.source SELECT id, 0, 'spark' FROM range(10, 20)")
    expect(ids(await sinkHas(20))).toEqual(range(0, 20))
    await service.kill()
    await python.change('db.source', 'append', { first: 20, count: 10 })
    service = await Service.start({ home: `${folder}/home` })
    expect(ids(await sinkHas(30))).toEqual(range(0, 30))
    expect(await sparkIds('db.sink')).toEqual(range(0, 30))
    const { pipeline } = await service.read<{ pipeline: Pipeline }>(`/api/pipeline/${id}/status`)
    expect(pipeline).toMatchObject({ state: 'running', error: null })
    await service.post(`/api/pipeline/${id}/stop`, {})
  })

  it('serves the tables of the other server, and creates new ones there with the codec of Iceberg', async () => {
    const served = '/iceberg/v1/namespaces'
    expect((await service.post(served, { namespace: ['front'], properties: { owner: 'lea' } })).status).toBe(200)
    const schema = { type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', required: false, type: 'long' }] }
    const made = await service.post(`${served}/front/tables`, { name: 'made', schema })
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    expect(made.body['metadata']).toMatchObject({ properties: { 'write.parquet.compression-codec': 'zstd' } })
    const { metadata } = await service.read<{ metadata: { location: string } }>(`${served}/front/tables/made`)
    expect(metadata.location).toContain(`${folder}/warehouse`)
    await spark.sql('INSERT INTO served.front.made SELECT id FROM range(0, 5)')
    expect(await sparkIds('front.made')).toEqual(range(0, 5))
    expect(await service.read('/api/table/front.made/health')).toMatchObject({ record_count: 5 })
  })

  it('lets no namespace of the other server point outside of the warehouse', async () => {
    const location = `file://${folder}/elsewhere`
    const made = await service.post('/iceberg/v1/namespaces', { namespace: ['outside'], properties: { location } })
    const changed = await service.post('/iceberg/v1/namespaces/db/properties', { removals: [], updates: { location } })
    for (const { status, body } of [made, changed]) {
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('is outside the warehouse')])
    }
    const inside = { location: `${folder}/warehouse/own-place` }
    const kept = await service.post('/iceberg/v1/namespaces', { namespace: ['inside'], properties: inside })
    expect(kept.status, JSON.stringify(kept.body)).toBe(200)
  })

  it('refuses an invalid address, and keeps its current catalog', async () => {
    for (const uri of ['ftp://127.0.0.1/x', 'http://user:word@127.0.0.1:1/', 'http://127.0.0.1:1/']) {
      const answer = await service.put('/api/config', { ...settings, uri })
      expect([400, 503]).toContain(answer.status)
      expect(JSON.stringify(answer.body)).not.toContain('word@')
    }
    await service.read('/api/table/db.events')
    expect(service.log).not.toContain(SECRET)
  })
})
