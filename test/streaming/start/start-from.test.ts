import { readFileSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { produceSnapshot } from '../../../src/iceberg/update/stage/snapshot-producer.ts'
import { writeAddedFiles } from '../../../src/iceberg/update/stage/stage-append.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'
import { sleep, until } from '../../support/waiting.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

/** A source with three snapshots of ten rows each, some ms apart. Returns their ids, oldest first. */
async function source(name: string): Promise<string[]> {
  await lab.createTable(`s.${name}`, COLUMNS)
  for (let at = 0; at < 3; at += 1) {
    await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
    await sleep(5)
  }
  return snapshots(name)
}

async function snapshots(name: string): Promise<string[]> {
  return (await lab.load(`s.${name}`)).metadata.snapshots.map(({ snapshotId }) => snapshotId.toString())
}

async function timeOf(name: string, at: number): Promise<number> {
  return (await lab.load(`s.${name}`)).metadata.snapshots[at]?.timestampMs ?? 0
}

const ask = (name: string, more: object = {}) =>
  lab.service.post('/api/pipeline/start', {
    source_table: `s.${name}`,
    sink_table: `s.${name}_sink`,
    checkpoint_location: `cp/${name}`,
    trigger_interval: '100 ms',
    create_sink_table: true,
    ...more,
  })

async function start(name: string, more: object = {}): Promise<{ readonly id: string; readonly from: unknown }> {
  const { status, body } = await ask(name, more)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.pipeline
}

const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})

const idsIn = async (table: string): Promise<number[]> =>
  (await lab.rows(table).catch(() => [])).map((row) => Number(JSON.parse(row).id)).sort((a, b) => a - b)

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

/** Waits until the sink has rows, and expects exactly these. */
async function expectIds(name: string, ids: readonly number[]): Promise<void> {
  await until(
    async () => (await idsIn(`s.${name}_sink`)).length >= ids.length,
    async () => `${ids.length} rows: ${(await idsIn(`s.${name}_sink`)).join()}`,
  )
  expect(await idsIn(`s.${name}_sink`)).toEqual(ids)
}

const initialOf = (name: string): string =>
  readFileSync(`${lab.service.folder}/home/cp/${name}/sources/0/offsets/0`, 'utf8')

async function untilRunning(id: string): Promise<void> {
  await until(async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.state === 'running')
}

describe('a pipeline that starts from a point of its source', { timeout: 180_000 }, () => {
  it('reads only rows that were appended after `now`, and goes on after a restart', async () => {
    const [, , head] = await source('now')
    const { id, from } = await start('now', { from: 'now' })
    expect(from).toBe('now')
    await untilRunning(id)
    expect(initialOf('now')).toBe(`{"version":1,"snapshot_id":${head},"position":1,"scan_all_files":false}`)
    expect((await stop(id)).status).toBe(200)
    await lab.append('s.now', numbered(30, 40))
    expect(await start('now')).toMatchObject({ id, from: 'now' })
    await expectIds('now', range(30, 40))
    await stop(id)
    const refused = await ask('now', { from: 'beginning' })
    expect([refused.status, refused.body.errors]).toEqual([
      409,
      [
        {
          path: 'from',
          message: 'cannot be given for a checkpoint that has begun: leave it out to read on, or use a new checkpoint',
        },
      ],
    ])
  })

  it('reads the snapshots after the one that is named, also where they are sent again', async () => {
    const [first = ''] = await source('after')
    const from = { snapshot_id: first }
    const { id } = await start('after', { from, max_files_per_batch: 1 })
    await expectIds('after', range(10, 30))
    await stop(id)
    expect((await ask('after', { from })).status).toBe(409)
    const again = await start('after', { from, checkpoint_location: 'cp/after2' })
    expect(again).toMatchObject({ warnings: [expect.stringContaining('are read and written again')] })
    await until(async () => (await idsIn('s.after_sink')).length >= 40)
    await stop(again.id)
    const now = await start('after', { from: 'now', checkpoint_location: 'cp/after3' })
    expect(now).toMatchObject({ warnings: [] })
    await stop(now.id)
  })

  it('reads the whole first snapshot of a younger table, also if it is an overwrite and takes several batches', async () => {
    const table = await lab.createTable('s.over', COLUMNS)
    const files = await lab.write('s.over', numbered(0, 10), numbered(10, 20))
    await commitTable(lab.catalog(), table.identifier, (fresh) =>
      produceSnapshot(fresh, { operationId: 'overwriter' }, async (producer) => ({
        operation: 'overwrite',
        manifests: await writeAddedFiles(producer, { content: 'data', files }),
        summary: {},
        removedDeleteFiles: 0,
      })),
    )
    const at = (await timeOf('over', 0)) - 1
    const { id } = await start('over', {
      from: { timestamp: new Date(at).toISOString() },
      on_delete: 'skip',
      max_files_per_batch: 1,
    })
    await expectIds('over', range(0, 20))
    await stop(id)
  })

  it('reads what was appended after a time, or everything when the table is younger', async () => {
    await source('time')
    const [first, second] = [await timeOf('time', 0), await timeOf('time', 1)]
    const cases = [
      { at: first - 1, ids: range(0, 30) },
      { at: first, ids: range(10, 30) },
      { at: second - 1, ids: range(10, 30) },
      { at: Date.now() - 1, ids: [] },
    ]
    for (const [n, { at, ids }] of cases.entries()) {
      const sink = { sink_table: `s.time${n}_sink`, checkpoint_location: `cp/time${n}` }
      const { id } = await start('time', { ...sink, from: { timestamp: new Date(at).toISOString() } })
      await untilRunning(id)
      await expectIds(`time${n}`, ids)
      await stop(id)
    }
  })

  it('reads the rows of the first snapshot after `now` when the source was empty', async () => {
    await lab.createTable('s.empty', COLUMNS)
    const { id } = await start('empty', { from: 'now' })
    await untilRunning(id)
    await lab.append('s.empty', numbered(0, 10))
    await expectIds('empty', range(0, 10))
    await stop(id)
    await lab.append('s.empty', numbered(10, 20))
    await start('empty')
    await expectIds('empty', range(0, 20))
    await stop(id)
  })

  it('begins at the same place again when its checkpoint is deleted before the first batch', async () => {
    await source('lost')
    const { id } = await start('lost', { from: 'now' })
    await untilRunning(id)
    await stop(id)
    rmSync(`${lab.service.folder}/home/cp/lost`, { recursive: true })
    await lab.append('s.lost', numbered(30, 40))
    expect(await start('lost')).toMatchObject({ id, from: 'now' })
    await expectIds('lost', range(30, 40))
    await stop(id)
  })

  it('reads from a snapshot that was published after the time, although it was written before', async () => {
    await lab.createTable('s.audited', COLUMNS)
    await lab.append('s.audited', numbered(0, 10))
    await commitTable(lab.catalog(), parseIdentifier('s.audited'), async ({ metadata }) => {
      const snapshotId = metadata.currentSnapshotId ?? 0n
      const ref = { 'ref-name': 'audit', type: 'branch', 'snapshot-id': snapshotId } as const
      return { updates: [{ action: 'set-snapshot-ref', ...ref }], requirements: [], writtenFiles: [] }
    })
    const { metadata } = await lab.append('s.audited', numbered(10, 20))
    const [base, written] = metadata.snapshots.map(({ snapshotId }) => snapshotId)
    const pointTo = (name: string, snapshotId = 0n) =>
      commitTable(lab.catalog(), parseIdentifier('s.audited'), async () => {
        const ref = { 'ref-name': name, type: 'branch', 'snapshot-id': snapshotId } as const
        return { updates: [{ action: 'set-snapshot-ref', ...ref }], requirements: [], writtenFiles: [] }
      })
    await pointTo('audit', written)
    await pointTo('main', base)
    await sleep(5)
    const between = new Date().toISOString()
    await sleep(5)
    const refused = await ask('audited', { from: { snapshot_id: String(written) } })
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'from.snapshot_id'])
    expect(refused.body.detail).toContain('is not in the history of main')
    await pointTo('main', written)
    const { id } = await start('audited', { from: { timestamp: between } })
    await expectIds('audited', range(10, 20))
    await stop(id)
  })
})

describe('a start from a point that cannot be read from', { timeout: 180_000 }, () => {
  it.each([
    ['unknown snapshot', { snapshot_id: '123' }, 'from.snapshot_id', 'has no snapshot 123'],
    ['future', { timestamp: '2999-01-01T00:00:00Z' }, 'from.timestamp', 'must not be in the future'],
  ])('is refused with its field (%s)', async (_, from, path, text) => {
    await lab.createTable('s.refused', COLUMNS).catch(() => undefined)
    const { status, body } = await ask('refused', { from })
    expect([status, body.errors[0].path], JSON.stringify(body)).toEqual([422, path])
    expect(body.detail).toContain(text)
  })

  it.each([
    ['tomorrow'],
    [{ snapshot_id: 1 }],
    [{ snapshot_id: '1', timestamp: '2026-01-01T00:00:00Z' }],
    [[]],
    [null],
  ])('is refused with 400 in another form (%j)', async (from) => {
    const { status, body } = await ask('refused', { from })
    expect([status, body.code], JSON.stringify(body)).toEqual([400, 'INVALID_REQUEST'])
    expect(body.errors[0].path).toMatch(/^from/)
  })

  it('is refused where a later snapshot deletes rows, unless such snapshots are skipped', async () => {
    const [first = ''] = await source('deleted')
    await deleteRow(lab, 's.deleted', 5)
    await lab.append('s.deleted', numbered(30, 40))
    const from = { snapshot_id: first }
    const { status, body } = await ask('deleted', { from })
    expect([status, body.errors[0].path], JSON.stringify(body)).toEqual([422, 'from.snapshot_id'])
    expect(body.detail).toContain('on_delete "skip"')
    const { id } = await start('deleted', { from, on_delete: 'skip' })
    await expectIds('deleted', range(10, 40))
    await stop(id)
  })

  it('is refused after the snapshots have expired', async () => {
    const [first = ''] = await source('expired')
    const time = new Date(await timeOf('expired', 0)).toISOString()
    const older_than = new Date(Date.now() + 1000).toISOString()
    expect((await lab.service.post('/api/expire', { table: 's.expired', older_than, retain_last: 1 })).status).toBe(200)
    for (const from of [{ snapshot_id: first }, { timestamp: time }]) {
      const { status, body } = await ask('expired', { from })
      expect([status, body.errors[0].path], JSON.stringify(body)).toEqual([422, `from.${Object.keys(from)[0]}`])
    }
  })
})

describe('a pipeline that fills a branch', { timeout: 180_000 }, () => {
  const refs = async (name: string): Promise<string[]> =>
    Object.keys((await lab.load(`s.${name}_sink`).catch(() => undefined))?.metadata.refs ?? {})

  it('brings its rows to main when it has caught up, or when it is started again so', async () => {
    await source('filled')
    const into_branch = { name: 'fill', publish: 'when_caught_up' }
    const first = await start('filled', { into_branch, max_files_per_batch: 1 })
    expect(first).toMatchObject({ into_branch })
    await expectIds('filled', range(0, 30))
    expect(await refs('filled')).toEqual(['main'])
    await stop(first.id)
    await source('manual')
    const { id } = await start('manual', { into_branch: { name: 'fill' }, max_files_per_batch: 1 })
    const last = async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.last_progress
    await until(async () => (await last())?.batch_id === 2)
    expect(await last()).toMatchObject({ sink: { branch: 'fill' } })
    await stop(id)
    expect([await refs('manual'), await idsIn('s.manual_sink')]).toEqual([['fill'], []])
    await lab.service.restart()
    await start('manual', { into_branch })
    await expectIds('manual', range(0, 30))
    await until(async () => (await last()).sink.branch === undefined)
    await lab.append('s.manual', numbered(30, 40))
    await expectIds('manual', range(0, 40))
    await stop(id)
  })

  it('is refused with the field when it cannot have the branch', async () => {
    await source('branched')
    await lab.createTable('s.branched_sink', COLUMNS)
    await lab.append('s.branched_sink', numbered(100, 110))
    await commitTable(lab.catalog(), parseIdentifier('s.branched_sink'), async ({ metadata }) => {
      const ref = { 'ref-name': 'taken', type: 'branch', 'snapshot-id': metadata.currentSnapshotId ?? 0n } as const
      return { updates: [{ action: 'set-snapshot-ref', ...ref }], requirements: [], writtenFiles: [] }
    })
    const refused = async (more: object) => {
      const { status, body } = await ask('branched', more)
      return [status, body.errors[0].path, body.errors[0].message]
    }
    const into = (name: string): object => ({ into_branch: { name } })
    expect(await refused(into('main'))).toEqual([422, 'into_branch.name', 'is reserved: main'])
    expect(await refused(into('lockhouse-pipeline-x'))).toEqual([422, 'into_branch.name', expect.any(String)])
    expect(await refused(into('taken'))).toEqual([
      409,
      'into_branch.name',
      'is a branch or tag of s.branched_sink already: taken',
    ])
    expect(await refused({ into_branch: { name: 'a', publish: 'now' } })).toEqual([
      400,
      'into_branch.publish',
      expect.any(String),
    ])
    const { id } = await start('branched')
    await until(async () => (await idsIn('s.branched_sink')).length === 40)
    await stop(id)
    expect(await refused(into('late'))).toEqual([
      409,
      'into_branch.name',
      'cannot be late: the checkpoint has written to main before',
    ])
  })
})
