import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Found, until } from '../support/waiting.ts'
import type { Health, SchemaAnswer } from './harness/answers.ts'
import { nessieAvailable, pyicebergAvailable } from './harness/environment.ts'
import { NessieServer } from './harness/nessie-server.ts'
import { ObjectStore } from './harness/object-store.ts'
import { PyIceberg, type TableAnswer } from './harness/pyiceberg.ts'
import { type CatalogSettings, Service } from './harness/service.ts'

const suite = 'the service on Nessie, beside PyIceberg'
const available = nessieAvailable(suite) && pyicebergAvailable(suite)

interface Pipeline {
  readonly id: string
  readonly state: string
  readonly error: { readonly code: string } | null
}

describe.skipIf(!available)('a catalog of Nessie that the service and PyIceberg share', { timeout: 300_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'interop-nessie-')) : ''
  let store: ObjectStore
  let nessie: NessieServer
  let service: Service
  let python: PyIceberg

  beforeAll(async () => {
    store = await ObjectStore.start()
    const location = `s3://${store.bucket}/warehouse`
    nessie = await NessieServer.start({ name: 'lake', location, store })
    const settings: CatalogSettings = {
      catalog_type: 'rest',
      warehouse: 'lake',
      catalog_name: 'nessie',
      uri: nessie.uri,
      extra_props: { ...store.properties, 'allowed-locations': location },
    }
    python = new PyIceberg(settings, store.properties)
    service = await Service.start({ home: `${folder}/home` })
    await service.configure(settings)
  }, 300_000)

  afterAll(async () => {
    python?.stop()
    await service?.stop()
    await nessie?.stop()
    await store?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const idsOf = ({ rows }: TableAnswer): number[] => rows.map(({ id }) => id)
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)
  const healthOf = (table: string): Promise<Health> => service.read<Health>(`/api/table/${table}/health`)
  const append = (table: string, first: number, count = 10): Promise<TableAnswer> =>
    python.change(table, 'append', { first, count })
  const soon = <T>(what: string, check: () => Promise<T>): Promise<Found<T>> =>
    until(check, () => `${what}\n${service.log}`, 60_000)

  async function makeTable(table: string, appends: number, options: object = {}): Promise<void> {
    await python.change(table, 'create', options)
    for (let at = 0; at < appends; at++) await append(table, at * 10)
  }

  it('is maintained while PyIceberg writes: compaction, manifests, columns', async () => {
    await makeTable('db.events', 4, { partitioned: true })
    const listed = await service.read<{ tables: { table: string }[] }>('/api/tables')
    expect(listed.tables.map(({ table }) => table)).toContain('db.events')
    // Of its snapshots Nessie shows the current one.
    expect(await healthOf('db.events')).toMatchObject({ data_file_count: 12, record_count: 40, snapshot_count: 1 })
    const before = await python.change('db.events', 'rows')
    expect(idsOf(before)).toEqual(range(0, 40))

    const compacted = await service.operate('/api/compact', { table: 'db.events', rewrite_all: true })
    expect(compacted.details).toMatchObject({ rewritten_data_files_count: 12, added_data_files_count: 3 })
    await service.operate('/api/rewrite-manifests', { table: 'db.events' })
    const after = await python.change('db.events', 'rows')
    expect(after).toEqual({ rows: before.rows, operations: ['replace'] })
    expect(await healthOf('db.events')).toMatchObject({ data_file_count: 3, record_count: 40, manifest_count: 1 })

    await service.operate('/api/evolve/add-column', { table: 'db.events', name: 'note', type: 'string' })
    await service.operate('/api/evolve/rename-column', { table: 'db.events', name: 'name', new_name: 'title' })
    const { rows } = await append('db.events', 40)
    expect(rows[0]).toMatchObject({ title: 'n0', note: null })
    expect(rows[40]).toMatchObject({ title: 'n40', note: 'n40' })
    await service.operate('/api/evolve/drop-column', { table: 'db.events', name: 'note' })
    await service.operate('/api/evolve/add-column', { table: 'db.events', name: 'note', type: 'string' })
    const { columns } = await service.read<SchemaAnswer>('/api/table/db.events/schema')
    expect(columns.map(({ id, name }) => [id, name])).toEqual([
      [1, 'id'],
      [2, 'part'],
      [3, 'title'],
      [5, 'note'],
    ])
    const last = await append('db.events', 50)
    expect(idsOf(last)).toEqual(range(0, 60))
    expect(last.rows[40]).toMatchObject({ title: 'n40', note: null })
  })

  it('leaves expiry and orphan files to Nessie, which keeps old files for its branches', async () => {
    await makeTable('db.kept', 2)
    for (const path of ['/api/expire', '/api/remove-orphans']) {
      const { status, body } = await service.post(path, { table: 'db.kept' })
      expect([path, status, body['code']]).toEqual([path, 422, 'GC_DISABLED'])
    }
  })

  it('refuses a plan when PyIceberg was faster, and loses no row of appends during compactions', async () => {
    await makeTable('db.busy', 6)
    const table = 'db.busy'
    const preview = await service.operate('/api/compact', { table, rewrite_all: true, dry_run: true })
    await append(table, 60)
    const stale = await service.post('/api/compact', { table, plan_id: preview['plan_id'] })
    expect([stale.status, stale.body['code']]).toEqual([409, 'PLAN_STALE'])

    const compacting = [1, 2, 3].map(() => service.post('/api/compact', { table, rewrite_all: true }))
    // PyIceberg does not repeat a commit that another one was faster than.
    for (let at = 7; at < 12; at++) await soon('an append', () => append(table, at * 10).catch(() => undefined))
    for (const answer of await Promise.all(compacting)) expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(idsOf(await python.change(table, 'rows'))).toEqual(range(0, 120))
  })

  it('gets the table of a pipeline, which reads on after a stop, and ends when its source is compacted', async () => {
    await makeTable('db.source', 1)
    const request = {
      source_table: 'db.source',
      sink_table: 'db.sink',
      checkpoint_location: `${folder}/home/checkpoints/one`,
      trigger_interval: '100 ms',
    }
    const start = async (more: object): Promise<Pipeline> => {
      const { status, body } = await service.post('/api/pipeline/start', { ...request, ...more })
      expect(status, JSON.stringify(body)).toBe(200)
      return body['pipeline'] as Pipeline
    }
    const { id } = await start({ create_sink_table: true })
    const isIn = (state: string) =>
      soon(state, async () => {
        const { pipeline } = await service.read<{ pipeline: Pipeline }>(`/api/pipeline/${id}/status`)
        return pipeline.state === state && pipeline
      })
    const sink = (): Promise<number[]> => python.change('db.sink', 'rows').then(idsOf, () => [])
    const sinkHas = (count: number) => soon(`${count} rows`, async () => (await sink()).length >= count)

    await sinkHas(10)
    await service.post(`/api/pipeline/${id}/stop`, {})
    await isIn('stopped')
    for (const first of [10, 20]) await append('db.source', first)
    await start({})
    await sinkHas(30)
    expect(await sink()).toEqual(range(0, 30))
    // Without its history, the new files could be new rows.
    await service.operate('/api/compact', { table: 'db.source', rewrite_all: true })
    expect((await isIn('failed')).error?.code).toBe('HISTORY_LOST')
    expect(await sink()).toEqual(range(0, 30))
  })
})
