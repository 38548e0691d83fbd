import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { ancestorsOf } from '../../../src/iceberg/metadata/snapshot-ancestry.ts'
import { FAST, numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'

describe('unread snapshots of pipelines', () => {
  let lab: StreamLab
  let id = ''
  beforeAll(async () => {
    lab = await openLab({ overrides: { streaming: { ...FAST, guardPinsMs: 100 } } })
    await lab.createTable('s.src', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.src', numbered(0, 10))
    await lab.append('s.src', numbered(10, 20))
    id = await start()
    await untilSame()
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    for (let at = 2; at < 6; at += 1) await lab.append('s.src', numbered(at * 10, at * 10 + 10))
  })
  afterAll(() => lab.close())

  async function start(): Promise<string> {
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.sink',
      checkpoint_location: 'cp/src',
      trigger_interval: '100 ms',
      create_sink_table: true,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.pipeline.id
  }
  const untilSame = () =>
    until(
      async () => JSON.stringify(await lab.rows('s.src')) === JSON.stringify(await lab.rows('s.sink').catch(() => [])),
    )
  const expire = (more: object = {}) =>
    lab.service.post('/api/expire', {
      table: 's.src',
      older_than: new Date(Date.now() + 1000).toISOString(),
      retain_last: 1,
      ...more,
    })
  const snapshots = async (): Promise<string[]> => {
    const { metadata } = await lab.load('s.src')
    return [...ancestorsOf(metadata, metadata.currentSnapshotId ?? 0n)].map(({ snapshotId }) => snapshotId.toString())
  }

  it('stay when snapshots expire; the answer and the dry run name the pipeline', async () => {
    const before = await snapshots()
    expect(before).toHaveLength(6)
    const dry = await expire({ dry_run: true })
    const done = await expire()
    for (const answer of [dry, done]) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      const details = JSON.parse(answer.body.details_json)
      expect(details).toMatchObject({ expired_snapshots_count: 1, kept_snapshots_count: 4 })
      expect(details.pinned_by).toEqual([{ pipeline_id: id, snapshot_id: before[4], kept_snapshots_count: 4 }])
      expect(details.kept_snapshots.map((one: { snapshot_id: string }) => one.snapshot_id)).toEqual(
        before.slice(1, 5).reverse(),
      )
    }
    expect(await snapshots()).toEqual(before.slice(0, 5))
  })

  it('cannot be expired by id: 409 with the pipeline', async () => {
    const [, second = '', third = ''] = await snapshots()
    const { status, body } = await expire({ snapshot_ids: [second, third] })
    expect(status, JSON.stringify(body)).toBe(409)
    expect(body.errors).toHaveLength(2)
    expect(body.errors[0]).toEqual({ path: 'snapshot_ids.0', message: `${second} is pinned by pipeline ${id}` })
  })

  it('are protected from other engines by a tag and the retention of main', async () => {
    const { metadata } = await lab.load('s.src')
    const oldest = (await snapshots()).at(-1)
    expect(metadata.refs[`lockhouse-pipeline-${id}`]?.snapshotId.toString()).toBe(oldest)
    expect(metadata.refs['main']?.maxSnapshotAgeMs).toBe(2n ** 63n - 1n)
  })

  it('show the retention of main exactly, as text', async () => {
    const { body } = await lab.service.get('/api/table/s.src/refs')
    const forever = '9223372036854775807'
    expect(body.refs.find((ref: { name: string }) => ref.name === 'main').max_snapshot_age_ms).toBe(forever)
    expect(body.refs.find((ref: { type: string }) => ref.type === 'tag').max_ref_age_ms).toBe(forever)
  })

  it('do not prevent a rollback of the source, and main keeps its retention', async () => {
    const [, snapshot_id] = await snapshots()
    const request = { table: 's.src', snapshot_id }
    expect((await lab.service.post('/api/rollback', { ...request, dry_run: true })).status).toBe(200)
    const answer = await lab.service.post('/api/rollback', request)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { metadata } = await lab.load('s.src')
    expect(String(metadata.currentSnapshotId)).toBe(snapshot_id)
    expect(metadata.refs['main']?.maxSnapshotAgeMs).toBe(2n ** 63n - 1n)
    await lab.append('s.src', numbered(50, 60)) // the rows that the rollback removed
  })

  it('are protected again after another writer removed the retention with its commit', async () => {
    await commitTable(lab.catalog(), parseIdentifier('s.src'), async ({ metadata }) => {
      const head = metadata.refs['main']?.snapshotId ?? 0n
      const main = { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': head } as const
      return { updates: [main], requirements: [], writtenFiles: [] }
    })
    const { metadata } = await until(async () => {
      const table = await lab.load('s.src')
      return table.metadata.refs['main']?.maxSnapshotAgeMs === 2n ** 63n - 1n ? table : undefined
    }, 'the retention to come back')
    expect(metadata.refs[`lockhouse-pipeline-${id}`]?.snapshotId.toString()).toBe((await snapshots()).at(-1))
  })

  it('keep their files when orphans are removed, including files that a later compaction replaced', async () => {
    await lab.service.post('/api/compact', { table: 's.src', rewrite_all: true })
    const days = Date.now() / 1000 - 10 * 86_400
    const table = await lab.load('s.src')
    const folder = fileURLToPath(table.metadata.location)
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (file.isFile()) utimesSync(join(file.parentPath, file.name), days, days)
    const before = await snapshots()
    const removed = await lab.service.post('/api/remove-orphans', { table: 's.src' })
    expect(removed.status, JSON.stringify(removed.body)).toBe(200)
    for (const { snapshotId } of table.metadata.snapshots.filter((one) => before.includes(one.snapshotId.toString()))) {
      for (const { dataFile } of await planFiles(table, { snapshotId })) {
        expect(await table.io.stat(dataFile.filePath), dataFile.filePath).toBeDefined()
      }
    }
  })

  it('are read when the pipeline resumes; then other engines can expire again as before', async () => {
    await commitTable(lab.catalog(), parseIdentifier('s.src'), async () => ({
      updates: [{ action: 'set-properties', updates: { unrelated: 'yes' } }],
      requirements: [],
      writtenFiles: [],
    }))
    expect(await start()).toBe(id)
    await untilSame()
    const { metadata } = await until(async () => {
      const table = await lab.load('s.src')
      return Object.keys(table.metadata.refs).join() === 'main' ? table : undefined
    }, 'the pin to go')
    expect(metadata.refs['main']?.maxSnapshotAgeMs).toBeUndefined()
    expect(metadata.properties).toEqual({ 'write.parquet.compression-codec': 'zstd', unrelated: 'yes' })
    const details = JSON.parse((await expire()).body.details_json)
    expect(details).toMatchObject({ expired_snapshots_count: 6, kept_snapshots_count: 0 })
    await lab.append('s.src', numbered(60, 70))
    await untilSame()
  })

  it('protect columns that a live pipeline uses from rename and drop, in source and sink', async () => {
    for (const table of ['s.src', 's.sink']) {
      for (const [path, more] of [
        ['rename-column', { new_name: 'title' }],
        ['drop-column', {}],
      ] as const) {
        for (const dry of [{}, { dry_run: true }]) {
          const { status, body } = await lab.service.post(`/api/evolve/${path}`, {
            table,
            name: 'name',
            ...more,
            ...dry,
          })
          expect(status, JSON.stringify(body)).toBe(409)
          expect(body.detail).toContain(id)
          expect(body.errors).toEqual([{ path: 'name', message: `used by pipeline ${id}` }])
        }
      }
      expect((await lab.service.post('/api/evolve/add-column', { table, name: 'more', type: 'int' })).status).toBe(200)
    }
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect(
      (await lab.service.post('/api/evolve/rename-column', { table: 's.sink', name: 'name', new_name: 'title' }))
        .status,
    ).toBe(200)
  })

  it('are no longer protected once the pipeline is deleted', async () => {
    for (let at = 7; at < 10; at += 1) await lab.append('s.src', `SELECT ${at}::BIGINT AS c1, 'x' AS c2, 1 AS c3`)
    expect(JSON.parse((await expire()).body.details_json).kept_snapshots_count).toBeGreaterThan(0)
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
    const details = JSON.parse((await expire()).body.details_json)
    expect(details).toMatchObject({ kept_snapshots_count: 0, pinned_by: [] })
    expect(await snapshots()).toHaveLength(1)
    expect(Object.keys((await lab.load('s.src')).metadata.refs)).toEqual(['main'])
  })
})
