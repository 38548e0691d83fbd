import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sqliteDialect } from '../../src/storage/dialects/sqlite.ts'
import { numbered, openLab, type StreamLab } from '../streaming/support.ts'
import { until } from '../support/waiting.ts'

describe('streaming pipelines through the API', () => {
  let lab: StreamLab
  let home = ''
  const tokens: Record<string, string> = {}

  beforeAll(async () => {
    lab = await openLab()
    home = `${lab.service.folder}/home`
    await lab.createTable('s.src', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.createTable('s.sink', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.createTable('s.other', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.createTable('s.narrow', [['id', 'long']])
    await lab.createTable('s.wrong', [
      ['id', 'int'],
      ['name', 'string'],
    ])
    await lab.createTable(
      's.zoned',
      [
        ['id', 'long'],
        ['name', 'timestamptz_ns'],
      ],
      { formatVersion: 3 },
    )
    await lab.createTable(
      's.secret',
      [
        ['id', 'long'],
        ['name', 'string'],
      ],
      { properties: { 'encryption.key-id': 'k' } },
    )
    const { metadataLocation } = await lab.createTable('s.dangling', [['id', 'long']])
    rmSync(metadataLocation.replace('file://', ''))
    await lab.createTable('s.view', [['id', 'long']])
    const db = new Kysely({ dialect: sqliteDialect(`${home}/catalog.db`) })
    await sql`update iceberg_tables set iceberg_type = 'VIEW' where table_name = 'view'`.execute(db)
    await db.destroy()
    await lab.append('s.src', numbered(0, 10))
    for (const role of ['Auditor', 'DataEngineer']) {
      const answer = await lab.service.post('/api/auth/tokens', { user: role, role, name: role })
      tokens[role] = answer.body.token
    }
  })
  afterAll(() => lab.close())

  const request = (more: object = {}): Record<string, unknown> => ({
    source_table: 's.src',
    sink_table: 's.sink',
    checkpoint_location: 'checkpoints/src',
    trigger_interval: '100 ms',
    ...more,
  })
  const start = (more: object = {}) => lab.service.post('/api/pipeline/start', request(more))

  async function expectNothingStarted(): Promise<void> {
    const { body } = await lab.service.get('/api/pipelines')
    expect(body.pipelines).toEqual([])
  }

  describe('requests refused before anything starts', () => {
    const intervals = [
      '',
      ' ',
      '5',
      'seconds',
      '5 parsecs',
      '-5 s',
      '+5 s',
      '5 s 3 s',
      '1e3 ms',
      '0 s',
      '99 ms',
      '25 h',
      '24.1 h',
      '5_s',
      '５ s',
      'Infinity s',
      'NaN s',
      '0x10 s',
      '5;s',
      '5 seconds ago',
      '1000000000000000000 s',
      '5\ns\n5',
      '5 constructor',
      '.5 s',
      '1. s',
      '1 week',
      '5 S s',
    ]

    it.each(intervals)('trigger_interval %j', async (trigger_interval) => {
      const { status, body } = await start({ trigger_interval })
      expect(status).toBe(400)
      expect(body.errors[0].path).toBe('trigger_interval')
    })

    it.each([[5], [null], [true], [['5 s']], [{ s: 5 }]])('trigger_interval %j', async (trigger_interval) => {
      const { status, body } = await start({ trigger_interval })
      expect(status).toBe(400)
      expect(body.errors[0].path).toBe('trigger_interval')
    })

    const escapes = [
      '/etc/cp',
      '/tmp/cp',
      '../cp',
      'a/../../cp',
      'a/../b',
      '..',
      '.',
      '/',
      '',
      '  ',
      'file:///etc/cp',
      'file://host/cp',
      'file:cp',
      's3://bucket/cp',
      'hdfs://host/cp',
      'http://localhost/cp',
      'a\\..\\..\\b',
      'a%2e%2e/b',
      '%2e%2e/b',
      'a%2fb',
      'a\nb',
      '~/cp',
      '~root/cp',
      'scratch',
      'scratch/x',
      'x'.repeat(300),
      'warehouse/s/src',
      'warehouse/s/src/data/cp',
      'warehouse/s/sink/cp',
      'warehouse/s',
      'warehouse',
      'link/cp',
      'dangling/cp',
      'dangling',
      'warehouse/s/other',
      'warehouse/s/other/cp',
      'warehouse/s/other/data/deep/cp',
      'inner/cp',
    ]

    it.each(escapes)('checkpoint_location %j', async (checkpoint_location) => {
      mkdirSync(`${lab.service.folder}/outside`, { recursive: true })
      const links = [
        ['link', `${lab.service.folder}/outside`],
        ['dangling', `${lab.service.folder}/not-yet`],
        ['inner', `${home}/warehouse/s/other`],
      ] as const
      for (const [name, target] of links) {
        rmSync(`${home}/${name}`, { force: true })
        symlinkSync(target, `${home}/${name}`)
      }
      const { status, body } = await start({ checkpoint_location })
      expect(status, JSON.stringify(body)).toBe(400)
      expect(body.errors[0].path).toBe('checkpoint_location')
    })

    it('absolute paths outside the home, and the home itself', async () => {
      for (const place of [home, `${home}/`, `${home}-evil/cp`, `file://${home}/../cp`, `${home}/warehouse/../../x`]) {
        const { status, body } = await start({ checkpoint_location: place })
        expect(status, place).toBe(400)
        expect(body.errors[0].path).toBe('checkpoint_location')
      }
    })

    it.each([
      [{ source_table: 's.none' }, 404, 'source_table'],
      [{ source_table: 'none.src' }, 404, 'source_table'],
      [{ sink_table: 's.none' }, 404, 'sink_table'],
      [{ source_table: 'src' }, 400, 'source_table'],
      [{ source_table: '../../etc.x' }, 400, 'source_table'],
      [{ sink_table: 5 }, 400, 'sink_table'],
      [{ sink_table: 's.src' }, 400, 'sink_table'],
      [{ source_table: undefined }, 400, 'source_table'],
      [{ sink_table: 's.narrow' }, 422, 'sink_table'],
      [{ sink_table: 's.wrong' }, 422, 'sink_table'],
      [{ sink_table: 's.zoned' }, 422, 'sink_table'],
      [{ source_table: 's.zoned', sink_table: 's.made', create_sink_table: true }, 422, 'source_table'],
      [{ source_table: 's.secret' }, 422, 'source_table'],
      [{ sink_table: 's.secret' }, 422, 'sink_table'],
      [{ source_table: 's.dangling' }, 422, 'source_table'],
      [{ sink_table: 's.dangling' }, 422, 'sink_table'],
      [{ sink_table: 's.view', create_sink_table: true }, 409, 'sink_table'],
      [{ on_delete: 'maybe' }, 400, 'on_delete'],
      [{ max_files_per_batch: 0 }, 400, 'max_files_per_batch'],
      [{ max_bytes_per_batch: 1.5 }, 400, 'max_bytes_per_batch'],
      [{ create_sink_table: 'yes' }, 400, 'create_sink_table'],
      [{ triger_interval: '1 s' }, 400, 'triger_interval'],
      [{ version_id: 'ver-1' }, 400, 'version_id'],
    ])('%j', async (more, expected, field) => {
      const { status, body } = await start(more)
      expect(status, JSON.stringify(body)).toBe(expected)
      expect(body.errors[0].path).toBe(field)
    })

    it('a damaged or invalid checkpoint', async () => {
      const damage: readonly [name: string, file: string, text: string][] = [
        ['d1', 'metadata', 'no json'],
        ['d2', 'metadata', '{"id":5}'],
        ['d3', 'offsets/0', 'v2\n{}\n-'],
        ['d4', 'offsets/0', 'v1\n{}\n{"version":1,"snapshot_id":"x","position":0,"scan_all_files":false}'],
        ['d5', 'offsets/0', 'v1\n{}\n{"version":2,"snapshot_id":1,"position":0,"scan_all_files":false}'],
        [
          'd6',
          'offsets/0',
          'v1\n{}\n{"version":1,"snapshot_id":1,"position":0,"scan_all_files":false}\n{"version":1,"snapshot_id":1,"position":0,"scan_all_files":false}',
        ],
        ['d7', 'sources/0/offsets/0', 'x'],
        ['d8', 'lockhouse.json', '{}'],
      ]
      for (const [name, file, text] of damage) {
        const folder = `${home}/damaged/${name}`
        mkdirSync(`${folder}/${file}`.replace(/\/[^/]*$/, ''), { recursive: true })
        writeFileSync(`${folder}/${file}`, text)
        const { status, body } = await start({ checkpoint_location: `damaged/${name}` })
        expect(status, `${name} ${JSON.stringify(body)}`).toBe(422)
        expect(body.errors[0].path).toBe('checkpoint_location')
      }
      writeFileSync(`${home}/afile`, 'text')
      const file = await start({ checkpoint_location: 'afile' })
      expect([400, 422]).toContain(file.status)
      expect(file.body.errors[0].path).toBe('checkpoint_location')
    })

    it('a checkpoint of Spark for another table', async () => {
      mkdirSync(`${home}/foreign/offsets`, { recursive: true })
      writeFileSync(`${home}/foreign/metadata`, '{"id":"55080374-1bf1-4eac-aa60-0109670f48f1"}')
      writeFileSync(
        `${home}/foreign/offsets/0`,
        'v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n{"version":1,"snapshot_id":5660587977364910981,"position":1,"scan_all_files":false}',
      )
      const { status, body } = await start({ checkpoint_location: 'foreign' })
      expect(status).toBe(409)
      expect(body.errors[0].path).toBe('checkpoint_location')
    })

    it('none of these requests started anything', expectNothingStarted)
  })

  it('roles: an Auditor can read, a DataEngineer can start and stop', async () => {
    const as = (role: string) => ({ token: tokens[role] ?? '' })
    expect((await lab.service.post('/api/pipeline/start', request(), as('Auditor'))).status).toBe(403)
    const started = await lab.service.post(
      '/api/pipeline/start',
      request({ sink_table: 's.other', checkpoint_location: 'cp/roles' }),
      as('DataEngineer'),
    )
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const { id, created_by } = started.body.pipeline
    expect(created_by).toBe('DataEngineer')
    expect((await lab.service.get(`/api/pipeline/${id}/status`, as('Auditor'))).status).toBe(200)
    expect((await lab.service.get('/api/pipelines', as('Auditor'))).body.pipelines).toHaveLength(1)
    expect((await lab.service.post(`/api/pipeline/${id}/stop`, {}, as('Auditor'))).status).toBe(403)
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`, as('Auditor'))).status).toBe(403)
    expect((await lab.service.get('/api/pipelines', { token: null })).status).toBe(401)
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`, as('DataEngineer'))).status).toBe(409)
    expect((await lab.service.post(`/api/pipeline/${id}/stop`, {}, as('DataEngineer'))).body.pipeline.state).toBe(
      'stopped',
    )
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`, as('DataEngineer'))).status).toBe(204)
    expect((await lab.service.get(`/api/pipeline/${id}/status`)).status).toBe(404)
    const audit = await lab.service.get(`/api/audit?object=${id}`)
    const actions = (audit.body.events ?? audit.body).map(
      (entry: { action: string; outcome: string }) => `${entry.action} ${entry.outcome}`,
    )
    expect(actions).toEqual(
      expect.arrayContaining(['pipeline.start done', 'pipeline.stop done', 'pipeline.delete done']),
    )
  })

  it('start, status, list, stop twice, start again', async () => {
    const started = await start()
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    expect(started.body.success).toBe(true)
    const { id, run_id } = started.body.pipeline
    expect(id).toMatch(/^pipe-/)
    expect(started.body.pipeline).toMatchObject({
      source_table: 's.src',
      sink_table: 's.sink',
      trigger_interval: '100 ms',
      engine: 'embedded',
      desired_state: 'running',
      created_by: 'admin',
    })
    const progressed = await until(async () => {
      const { body } = await lab.service.get(`/api/pipeline/${id}/status`)
      return body.pipeline.last_progress === null ? undefined : body.pipeline
    })
    expect(progressed).toMatchObject({ state: 'running', error: null })
    expect(progressed.last_progress).toMatchObject({
      id,
      run_id,
      batch_id: 0,
      num_input_rows: 10,
      sources: [
        { description: 's.src', num_input_rows: 10, lag: { snapshots: 0, files: 0, rows: 0, bytes: 0, seconds: 0 } },
      ],
      sink: { description: 's.sink', num_output_rows: 10 },
    })
    expect(progressed.last_progress.sink.snapshot_id).toMatch(/^\d+$/)

    const onSink = await start({ checkpoint_location: 'checkpoints/second' })
    expect([onSink.status, onSink.body.errors[0].path]).toEqual([409, 'sink_table'])
    expect(onSink.body.detail).toContain(id)
    const onCheckpoint = await start({ sink_table: 's.other' })
    expect([onCheckpoint.status, onCheckpoint.body.errors[0].path]).toEqual([409, 'checkpoint_location'])

    const list = await lab.service.get('/api/pipelines')
    expect(list.body).toMatchObject({ success: true, next_page_token: null })
    expect(list.body.pipelines.map((one: { id: string }) => one.id)).toEqual([id])

    for (const body of [{}, undefined, { mode: 'immediate' }, { mode: 'graceful' }]) {
      const stopped = await lab.service.call('POST', `/api/pipeline/${id}/stop`, body === undefined ? {} : { body })
      expect(stopped.status).toBe(200)
      expect(stopped.body.pipeline).toMatchObject({ id, state: 'stopped', desired_state: 'stopped' })
    }
    expect((await lab.service.post(`/api/pipeline/${id}/stop`, { mode: 'never' })).status).toBe(400)
    expect((await lab.service.post('/api/pipeline/pipe-none/stop', {})).status).toBe(404)

    const other = await start({ sink_table: 's.other' })
    expect([other.status, other.body.errors[0].path], JSON.stringify(other.body)).toEqual([409, 'checkpoint_location'])
    const again = await start({ trigger_interval: '0.2 seconds' })
    expect(again.body.pipeline).toMatchObject({ id, trigger_interval: '0.2 seconds' })
    expect(again.body.pipeline.run_id).not.toBe(run_id)
    await lab.append('s.src', numbered(10, 15))
    await until(async () => (await lab.rows('s.sink')).length === 15)
    await lab.service.post(`/api/pipeline/${id}/stop`, { mode: 'immediate' })
    await until(async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.state === 'stopped')
    expect(await lab.rows('s.sink')).toEqual(await lab.rows('s.src'))
  })

  it('of many concurrent starts only one succeeds', async () => {
    await lab.createTable('s.race', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => start({ sink_table: 's.race', checkpoint_location: `race/${at % 3}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 11 }, () => 409)])
    const [won] = answers.filter(({ status }) => status === 200)
    await lab.service.post(`/api/pipeline/${won?.body.pipeline.id}/stop`, {})
  })
})
