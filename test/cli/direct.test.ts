import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../support/effort.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'
import { cleanEnvironment } from '../support/clean-environment.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const RUNTIME = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
const MAIN = join(REPOSITORY, 'src/cli/main.ts')

describe('commands on a catalog without a service', { timeout: 300_000 }, () => {
  let service: TestService
  let folder: string
  let scratch: string
  let catalog: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lockhouse-direct-test-'))
    scratch = await mkdtemp(join(tmpdir(), 'lockhouse-direct-tmp-'))
    // a service made the tables, and can look at what the commands do
    service = await startTestService({ events: { commits: 6, filesPerCommit: 5, rowsPerFile: 100 } })
    const { body } = await service.get('/api/config')
    catalog = join(folder, 'catalog.json')
    const { catalog_type, warehouse, catalog_name, uri } = body
    await writeFile(catalog, JSON.stringify({ catalog_type, warehouse, catalog_name, uri }))
  })
  afterAll(async () => {
    await service.close()
    await rm(folder, { recursive: true, force: true })
    await rm(scratch, { recursive: true, force: true })
  })

  const start = (args: readonly string[]) =>
    spawn(process.execPath, [...RUNTIME, MAIN, ...args, '--catalog', catalog], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...cleanEnvironment, TMPDIR: scratch },
    })
  async function run(...args: readonly string[]) {
    const child = start(args)
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, out, err }
  }
  const json = async (...args: string[]) => {
    const { out, err, code } = await run(...args, '--json')
    expect(code, err).toBe(0)
    return JSON.parse(out)
  }
  const health = async () => (await service.get('/api/table/demo.events/health')).body
  const snapshotIds = async () =>
    (await service.get('/api/table/demo.events/snapshots')).body.snapshots.map(
      ({ snapshot_id }: { snapshot_id: string }) => snapshot_id,
    )

  it('show tables and health, and leave nothing behind', LONG, async () => {
    const { tables } = await json('tables')
    expect(tables).toMatchObject([{ table: 'demo.events', data_file_count: 30 }])
    expect((await run('health', 'demo.events')).out).toMatch(/^data files\s+30$/m)
    expect(await readdir(scratch)).toEqual([])
  })

  it('preview and compact with the same rows', async () => {
    const before = await health()
    const preview = await json('compact', 'demo.events', '--dry-run')
    expect(JSON.parse(preview.details_json)).toMatchObject({ rewritten_data_files_count: 30 })
    expect(await health()).toMatchObject({ data_file_count: 30 })
    const done = await run('compact', 'demo.events')
    expect(done.code, done.err).toBe(0)
    expect(done.out).toMatch(/^rows written\s+2970$/m)
    expect(await health()).toMatchObject({ data_file_count: 1, record_count: before.record_count - 30 })
    expect(await readdir(scratch)).toEqual([])
  })

  it('expire only what was confirmed, and never what a pipeline of a service has to read', LONG, async () => {
    expect((await run('expire', 'demo.events', '--retain-last', '1')).code).toBe(2) // nobody can be asked
    const started = await service.post('/api/pipeline/start', {
      source_table: 'demo.events',
      sink_table: 'demo.copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/direct',
      trigger_interval: '1 hour',
    })
    expect(started.status, JSON.stringify(started.body)).toBeLessThan(300)
    const { id } = started.body.pipeline
    const pin = async () => {
      const { refs } = (await service.get('/api/table/demo.events/refs')).body
      return refs.find(({ name }: { name: string }) => name === `lockhouse-pipeline-${id}`)
    }
    const copied = async () => (await service.get('/api/table/demo.copy/health')).body.record_count
    await until(async () => (await copied()) === 2970, 'the first batch')
    const stopped = await service.post(`/api/pipeline/${id}/stop`, {})
    expect(stopped.status, JSON.stringify(stopped.body)).toBeLessThan(300)
    const pinned = await until(pin, 'the pin of the stopped pipeline')
    await service.post('/api/compact', { table: 'demo.events', rewrite_all: true })
    const options = ['expire', 'demo.events', '--retain-last', '1', '--older-than', '2999-01-01T00:00:00Z', '--yes']
    await run(...options)
    expect(await snapshotIds()).toContain(pinned.snapshot_id)
    expect(await snapshotIds()).not.toHaveLength(1)
    const deleted = await service.call('DELETE', `/api/pipeline/${id}`)
    expect(deleted.status).toBeLessThan(300)
    const done = await run(...options)
    expect(done.code, done.err).toBe(0)
    expect(await snapshotIds()).toHaveLength(1)
    expect((await health()).record_count).toBe(2970)
  })

  it('say in one line what is wrong with a catalog', LONG, async () => {
    const other = join(folder, 'wrong.json')
    await writeFile(
      other,
      '{"catalog_type": "sql", "warehouse": "file:///nowhere", "catalog_name": "x", "uri": "sqlite:////nowhere.db"}',
    )
    const wrong = await run('tables', '--catalog', other)
    expect([wrong.code, wrong.out]).toEqual([0, expect.anything()]) // the last one given counts
    const good = catalog
    for (const [name, content] of [
      ['wrong.json', undefined],
      ['text.json', 'no json'],
      ['part.json', '{}'],
    ] as const) {
      catalog = join(folder, name)
      if (content !== undefined) await writeFile(catalog, content)
      const { code, out, err } = await run('tables')
      expect([code, out], name).toEqual([1, ''])
      expect(err, name).toMatch(/^lockhouse: .+\n$/)
    }
    catalog = good
    expect((await run('pipelines')).code).toBe(2)
    expect(await readdir(scratch)).toEqual([])
  })

  it('are cancelled by an interruption, and clean up', LONG, async () => {
    const before = await health()
    const child = start(['compact', 'demo.events', '--rewrite-all'])
    let note = ''
    child.stderr.on('data', (bytes) => (note += String(bytes)))
    await until(
      () => note.includes('has started'),
      () => note,
    )
    expect(note).toContain('an interruption of this command cancels the operation')
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    expect([0, 1, 130], note).toContain(code) // it may have been done before
    expect((await health()).record_count).toBe(before.record_count)
    await until(async () => (await readdir(scratch)).length === 0)
    expect(await readdir(scratch)).toEqual([])
  })
})
