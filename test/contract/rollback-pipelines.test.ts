import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../src/catalog/table-identifier.ts'
import { LONG } from '../support/effort.ts'
import { runExpiry } from '../../src/maintenance/expiry/expire.ts'
import { pinHistory } from '../../src/streaming/pins/retention-pin.ts'
import { numbered, openLab, type StreamLab } from '../streaming/support.ts'
import { type Lifecycle, lifecycle } from '../support/lifecycle.ts'
import { until } from '../support/waiting.ts'

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let made = 0
/** A source with three appends of ten rows each; the ids of its snapshots. */
async function makeSource() {
  const source = `s.t${(made += 1)}`
  await lab.createTable(source, COLUMNS)
  for (let at = 0; at < 3; at += 1) await lab.append(source, numbered(at * 10, at * 10 + 10))
  return { source, sink: `${source}_sink`, snapshots: await snapshotsOf(source) }
}

/** Ids of the snapshots of a table, oldest first. */
async function snapshotsOf(table: string): Promise<[string, string, string, ...string[]]> {
  const [first = '', second = '', third = '', ...more] = (await lab.load(table)).metadata.snapshots.map(
    ({ snapshotId }) => String(snapshotId),
  )
  return [first, second, third, ...more]
}

const current = async (table: string): Promise<string> => String((await lab.load(table)).metadata.currentSnapshotId)
const rowCount = async (table: string): Promise<number> => (await lab.rows(table).catch(() => [])).length

/** A request of a start; `hourly` reads once and then waits. */
async function begin(source: string, more: object = {}) {
  return life.engineer.call('POST', '/api/pipeline/start', {
    source_table: source,
    sink_table: `${source}_sink`,
    create_sink_table: true,
    checkpoint_location: `cp/${source}`,
    trigger_interval: '100 ms',
    ...more,
  })
}

async function start(source: string, more: object = {}): Promise<string> {
  const answer = await begin(source, more)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.pipeline.id
}

const stop = (id: string) => life.engineer.call('POST', `/api/pipeline/${id}/stop`, {})
const statusOf = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
const checkpointOf = async (id: string) => fileURLToPath((await statusOf(id)).checkpoint_location)
const untilRows = (table: string, count: number) => until(async () => (await rowCount(table)) === count)

/** A stopped pipeline that has read and written everything, ten rows per batch. */
async function stoppedAfterAll() {
  const tables = await makeSource()
  const id = await startedBatchwise(tables.source)
  await stop(id)
  return { ...tables, id, batches: await snapshotsOf(tables.sink) }
}

/** A pipeline with a batch of ten rows for each snapshot of the source. */
async function startedBatchwise(source: string): Promise<string> {
  const id = await start(source, { max_files_per_batch: 1 })
  await untilRows(`${source}_sink`, 30)
  return id
}

const rollback = (body: object, by = life.lead) => by.call('POST', '/api/rollback', body)
const affectedBy = async (body: object) => {
  const answer = await rollback({ ...body, dry_run: true })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return JSON.parse(answer.body.details_json).affected_pipelines
}

describe('a rollback of a table that a pipeline reads', () => {
  it('is refused while the pipeline runs after the target; the preview says what would happen', async () => {
    const { source, snapshots } = await makeSource()
    const id = await startedBatchwise(source)
    const request = { table: source, snapshot_id: snapshots[0] }
    expect(await affectedBy(request)).toEqual([
      {
        pipeline_id: id,
        role: 'reader',
        state: 'running',
        required: 'stop',
        consequence: expect.stringMatching(/2 snapshots with 20 rows .* HISTORY_LOST .*s\.t\d+_sink keeps/),
        snapshots_count: 2,
        rows_count: 20,
        batch_ids: [],
      },
    ])
    const refused = await rollback({ ...request, accept_pipelines: [id] })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.errors).toEqual([
      { path: 'snapshot_id', message: expect.stringContaining(`pipeline ${id} (reader, running)`) },
    ])
    expect(refused.body.detail).toContain('Stop the running pipelines first')
    expect(await current(source)).toBe(snapshots[2])
    expect(await statusOf(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('is refused while the pipeline runs before the target, and free once it has stopped there', async () => {
    const { source, sink, snapshots } = await makeSource()
    const id = await start(source, { trigger_interval: '1 hour' })
    await untilRows(sink, 30)
    await lab.append(source, numbered(30, 40), numbered(40, 50))
    const request = { table: source, snapshot_id: snapshots[2] }
    const [pipeline] = await affectedBy(request)
    expect(pipeline).toMatchObject({ required: 'stop', rows_count: 0, snapshots_count: 0 })
    expect(pipeline.consequence).toContain('may read')
    expect((await rollback(request)).status).toBe(409)
    await stop(id)
    expect(await affectedBy(request)).toEqual([])
    expect((await rollback(request)).status).toBe(200)
    await lab.append(source, numbered(50, 60))
    expect(await start(source)).toBe(id)
    await untilRows(sink, 40)
    expect(await lab.rows(sink)).toEqual(await lab.rows(source))
    await stop(id)
  })

  it('needs an acknowledgement when the pipeline is stopped after the target, and then ends as announced', async () => {
    const { source, sink, snapshots, id } = await stoppedAfterAll()
    const request = { table: source, snapshot_id: snapshots[1] }
    const [pipeline] = await affectedBy(request)
    expect(pipeline).toMatchObject({ pipeline_id: id, role: 'reader', state: 'stopped', required: 'accept' })
    expect(pipeline).toMatchObject({ snapshots_count: 1, rows_count: 10 })
    for (const accept of [undefined, [], ['pipe-other']]) {
      const refused = await rollback({ ...request, accept_pipelines: accept })
      expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
      expect(refused.body.errors).toMatchObject([{ path: 'accept_pipelines' }])
      expect(refused.body.detail).toContain(id)
    }
    const { status, body } = await rollback({ ...request, accept_pipelines: [id] })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(JSON.parse(body.details_json).affected_pipelines).toMatchObject([{ pipeline_id: id }])
    await start(source)
    await until(async () => (await statusOf(id)).state === 'failed')
    expect((await statusOf(id)).error.code).toBe('HISTORY_LOST')
    expect(await rowCount(sink)).toBe(30)
  })

  it('to the snapshot that a stopped pipeline has read up to is free', LONG, async () => {
    const { source, snapshots } = await stoppedAfterAll()
    await lab.append(source, numbered(30, 40))
    const request = { table: source, snapshot_id: snapshots[2] }
    expect(await affectedBy(request)).toEqual([])
    expect((await rollback(request)).status).toBe(200)
  })

  it(
    'counts a batch that was planned before a crash, though the service has not stored its position',
    LONG,
    async () => {
      const { source, snapshots, id } = await stoppedAfterAll()
      const end = (await lab.append(source, numbered(30, 40))).metadata.currentSnapshotId
      const folder = await checkpointOf(id)
      const offset = `{"version":1,"snapshot_id":${end},"position":1,"scan_all_files":false}`
      const next = (await statusOf(id)).last_progress.batch_id + 1
      writeFileSync(join(folder, 'offsets', String(next)), `v1\n{"batchWatermarkMs":0,"conf":{}}\n${offset}`)
      expect(await affectedBy({ table: source, snapshot_id: snapshots[2] })).toMatchObject([
        { pipeline_id: id, required: 'accept', rows_count: 10 },
      ])
    },
  )

  it(
    'needs an acknowledgement when the checkpoint cannot be read; without one, the sink has the position',
    LONG,
    async () => {
      const { source, snapshots, id } = await stoppedAfterAll()
      const folder = await checkpointOf(id)
      await lab.append(source, numbered(30, 40))
      const request = { table: source, snapshot_id: snapshots[2] }
      writeFileSync(join(folder, 'metadata'), 'damaged')
      const [pipeline] = await affectedBy(request)
      expect(pipeline).toMatchObject({ pipeline_id: id, required: 'accept' })
      expect(pipeline.consequence).toContain('unknown')
      expect(JSON.stringify(pipeline)).not.toContain(folder)
      rmSync(folder, { recursive: true })
      expect(await affectedBy(request)).toEqual([])
      expect(await affectedBy({ ...request, snapshot_id: snapshots[1] })).toMatchObject([{ pipeline_id: id }])
    },
  )
})

describe('a rollback of a table that another service reads', () => {
  it('needs an acknowledgement when the tag of its pipeline is on a snapshot that would be undone', async () => {
    const { source, snapshots } = await makeSource()
    const pin = { pipelineId: 'pipe-elsewhere', snapshotId: BigInt(snapshots[1]) }
    await pinHistory(lab.catalog(), parseIdentifier(source), pin)
    expect(await affectedBy({ table: source, snapshot_id: snapshots[1] })).toEqual([])
    const request = { table: source, snapshot_id: snapshots[0] }
    expect(await affectedBy(request)).toMatchObject([
      { pipeline_id: 'pipe-elsewhere', role: 'reader', state: 'unknown', required: 'accept', rows_count: 10 },
    ])
    expect((await rollback(request)).status).toBe(409)
    expect((await rollback({ ...request, accept_pipelines: ['pipe-elsewhere'] })).status).toBe(200)
  })
})

describe('a rollback of a table that a pipeline writes', () => {
  it('is refused while the pipeline runs and has batches after the target', async () => {
    const { source, sink } = await makeSource()
    const id = await startedBatchwise(source)
    const batches = await snapshotsOf(sink)
    const request = { table: sink, snapshot_id: batches[0] }
    expect(await affectedBy(request)).toEqual([
      {
        pipeline_id: id,
        role: 'sink',
        state: 'running',
        required: 'stop',
        consequence: expect.stringMatching(/batches 1 and 2 .*20 rows.* not write them again/),
        snapshots_count: 2,
        rows_count: 20,
        batch_ids: [1, 2],
      },
    ])
    const refused = await rollback({ ...request, accept_pipelines: [id] })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(await rowCount(sink)).toBe(30)
    await stop(id)
  })

  it(
    'is free while the pipeline runs, if only other writers committed after the target; no row of it is lost',
    LONG,
    async () => {
      const { source, sink } = await makeSource()
      const id = await startedBatchwise(source)
      const target = await current(sink)
      await lab.append(sink, numbered(900, 910))
      expect(await affectedBy({ table: sink, snapshot_id: target })).toEqual([])
      expect((await rollback({ table: sink, snapshot_id: target })).status).toBe(200)
      await lab.append(source, numbered(30, 40))
      await untilRows(sink, 40)
      expect(await lab.rows(sink)).toEqual(await lab.rows(source))
      await stop(id)
    },
  )

  it('needs an acknowledgement when the pipeline is stopped; then the batches do not return', async () => {
    const { source, sink, id, batches } = await stoppedAfterAll()
    const request = { table: sink, snapshot_id: batches[1] }
    expect(await affectedBy(request)).toMatchObject([{ pipeline_id: id, role: 'sink', required: 'accept' }])
    expect((await rollback(request)).status).toBe(409)
    expect((await rollback({ ...request, accept_pipelines: [id] })).status).toBe(200)
    const kept = await lab.rows(sink)
    expect(kept).toHaveLength(20)
    await lab.append(source, numbered(30, 40))
    await start(source)
    await untilRows(sink, 30)
    const later = (await lab.rows(source)).filter((row) => Number(JSON.parse(row).id) >= 30)
    expect(await lab.rows(sink)).toEqual([...kept, ...later].sort())
    await stop(id)
  })

  it(
    'needs an acknowledgement for batches of a pipeline that was deleted, whose checkpoint can be started again',
    LONG,
    async () => {
      const { source, sink, id, batches } = await stoppedAfterAll()
      expect((await life.engineer.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
      const request = { table: sink, snapshot_id: batches[1] }
      expect(await affectedBy(request)).toMatchObject([{ pipeline_id: id, state: 'unknown', required: 'accept' }])
      expect(await affectedBy({ table: source, snapshot_id: (await snapshotsOf(source))[2] })).toEqual([])
      expect((await rollback(request)).status).toBe(409)
      expect((await rollback({ ...request, accept_pipelines: [id] })).status).toBe(200)
    },
  )

  it(
    'is free for a deleted pipeline that only read; its checkpoint never continues after what was undone',
    LONG,
    async () => {
      const { source, sink, id, snapshots } = await stoppedAfterAll()
      expect((await life.engineer.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
      const request = { table: source, snapshot_id: snapshots[0] }
      expect(await affectedBy(request)).toEqual([])
      expect((await rollback(request)).status).toBe(200)
      const written = await lab.rows(sink)
      const writtenSnapshots = await snapshotsOf(sink)
      expect(await startedAndLost(source)).toContain('rolled back to before it')
      await lab.append(source, numbered(50, 60))
      expect(await startedAndLost(source)).toContain('rolled back to before it')
      const identifier = parseIdentifier(source)
      const nowMs = Date.now() + 10 * 86_400_000
      await runExpiry({ catalog: lab.catalog(), identifier, request: { retain_last: 1 }, nowMs })
      expect((await lab.load(source)).metadata.snapshots).toHaveLength(1)
      expect(await startedAndLost(source)).toContain('can no longer be determined')
      expect(await lab.rows(sink)).toEqual(written)
      expect(await snapshotsOf(sink)).toEqual(writtenSnapshots)
    },
  )

  /** Starts on the old checkpoint and answers why the pipeline ended. */
  async function startedAndLost(source: string): Promise<string> {
    const id = await start(source)
    const failed = await until(async () => {
      const now = await statusOf(id)
      return now.state === 'failed' && now
    })
    expect(failed.error.code).toBe('HISTORY_LOST')
    expect((await life.engineer.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
    return failed.error.message
  }

  it('lists the reader of the table and the pipeline that writes it', async () => {
    const { sink, id, batches } = await stoppedAfterAll()
    const second = await start(sink, { max_files_per_batch: 1 })
    await untilRows(`${sink}_sink`, 30)
    const request = { table: sink, snapshot_id: batches[1] }
    const affected: { pipeline_id: string }[] = await affectedBy(request)
    expect(affected.map((one) => one.pipeline_id).sort()).toEqual([id, second].sort())
    const refused = await rollback({ ...request, accept_pipelines: [id, second] })
    expect(refused.body.errors).toHaveLength(1)
    await stop(second)
    expect((await rollback({ ...request, accept_pipelines: [id] })).body.errors).toHaveLength(1)
    expect((await rollback({ ...request, accept_pipelines: [id, second] })).status).toBe(200)
  })
})

describe('a plan of a rollback', () => {
  it('made before a pipeline was started is checked again', LONG, async () => {
    const { source, sink, snapshots } = await makeSource()
    const preview = await rollback({ table: source, snapshot_id: snapshots[0], dry_run: true })
    expect(JSON.parse(preview.body.details_json).affected_pipelines).toEqual([])
    const id = await start(source, { trigger_interval: '30 seconds' })
    await untilRows(sink, 30)
    const { plan_id } = preview.body
    const live = await rollback({ table: source, plan_id })
    expect([live.status, live.body.code]).toEqual([409, 'CONFLICT'])
    expect(live.body.detail).toContain(id)
    expect(await current(source)).toBe(snapshots[2])
    await stop(id)
  })

  it('can be acknowledged when it is applied, by a lead only', async () => {
    const { sink, id, batches } = await stoppedAfterAll()
    const request = { table: sink, snapshot_id: batches[1] }
    const { plan_id } = (await rollback({ ...request, dry_run: true })).body
    expect((await rollback({ table: sink, plan_id })).status).toBe(409)
    const byEngineer = await rollback({ table: sink, plan_id, accept_pipelines: [id] }, life.engineer)
    expect([byEngineer.status, byEngineer.body.code]).toEqual([403, 'FORBIDDEN'])
    expect(await rowCount(sink)).toBe(30)
    const other = await rollback({ table: sink, plan_id, snapshot_id: batches[0], accept_pipelines: [id] })
    expect([other.status, other.body.errors[0].path]).toEqual([400, 'snapshot_id'])
    expect((await rollback({ table: sink, plan_id, accept_pipelines: [id] })).status).toBe(200)
    expect(await rowCount(sink)).toBe(20)
  })

  it('that was acknowledged when it was made is still refused after the pipeline was started', LONG, async () => {
    const { source, sink, id, batches } = await stoppedAfterAll()
    const request = { table: sink, snapshot_id: batches[1], accept_pipelines: [id] }
    const { plan_id } = (await rollback({ ...request, dry_run: true })).body
    await start(source)
    const refused = await rollback({ table: sink, plan_id })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    await stop(id)
    expect((await rollback({ table: sink, plan_id })).status).toBe(200)
  })
})

describe('starts and rollbacks at the same time', LONG, () => {
  it('never let a pipeline read what is being undone', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { source, sink, snapshots } = await makeSource()
      const [began, undone] = await Promise.all([
        begin(source, { trigger_interval: '1 second' }),
        rollback({ table: source, snapshot_id: snapshots[1] }),
      ])
      expect([200, 409], JSON.stringify(undone.body)).toContain(undone.status)
      if (began.status !== 200) {
        expect([began.status, began.body.code]).toEqual([409, 'CONFLICT'])
        expect(undone.status).toBe(200)
        continue
      }
      const { id } = began.body.pipeline
      const rows = undone.status === 200 ? 20 : 30
      await untilRows(sink, rows)
      expect(await statusOf(id)).toMatchObject({ error: null })
      await stop(id)
    }
  })
})

describe('a start while a rollback runs', () => {
  it.each(['reads', 'writes'])('is refused for a pipeline that %s the table', async (role) => {
    const { source, sink } = await makeSource()
    await lab.createTable(sink, COLUMNS)
    const table = role === 'reads' ? source : sink
    const { promise: wait, resolve: end } = Promise.withResolvers<void>()
    const { done, id } = await lab.service.context.app.operations.start({
      kind: 'rollback',
      table,
      context: { caller: { user: 'lea', role: 'LeadDataEngineer', via: 'token' }, channel: 'api', requestId: 'req-1' },
      request: {},
      run: async () => ({ result: await wait.then(() => 0), details: {} }),
    })
    const refused = await begin(source)
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.errors).toMatchObject([{ path: role === 'reads' ? 'source_table' : 'sink_table' }])
    expect(refused.body.detail).toContain(id)
    end()
    await done
    await stop(await start(source))
  })
})

describe('two catalogs with a table of the same name', LONG, () => {
  it('are told apart: only the history that a pipeline has read counts', async () => {
    const { source, sink, snapshots, id, batches } = await stoppedAfterAll()
    const { success: _, ...config } = (await lab.service.get('/api/config')).body
    const other = {
      ...config,
      warehouse: join(lab.service.folder, 'other'),
      uri: `sqlite:///${lab.service.folder}/o.db`,
      create: true,
      extra_props: {},
    }
    const moved = await lab.service.call('PUT', '/api/config', { body: other })
    expect(moved.status, JSON.stringify(moved.body)).toBe(200)
    await lab.catalog().createNamespace(['s'])
    for (const table of [source, sink]) {
      await lab.createTable(table, COLUMNS)
      for (let at = 0; at < 3; at += 1) await lab.append(table, numbered(at, at + 1))
      const [first] = await snapshotsOf(table)
      expect(await affectedBy({ table, snapshot_id: first })).toEqual([])
      expect((await rollback({ table, snapshot_id: first })).status).toBe(200)
    }
    expect((await lab.service.call('PUT', '/api/config', { body: config })).status).toBe(200)
    expect(await affectedBy({ table: source, snapshot_id: snapshots[0] })).toMatchObject([{ pipeline_id: id }])
    expect(await affectedBy({ table: sink, snapshot_id: batches[0] })).toMatchObject([{ pipeline_id: id }])
  })
})
