import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Place } from '../../support/lifecycle.ts'
import { type DeployLab, graphOf, openDeployLab } from './deploy-lab.ts'
import { until } from '../../support/waiting.ts'

let lab: DeployLab
beforeAll(async () => {
  lab = await openDeployLab()
})
afterAll(() => lab.close())

const fresh = (from: unknown, more: object = {}): object => ({ checkpoint: 'fresh', from, ...more })

async function snapshotOf(table: string, at: number): Promise<string> {
  return String((await lab.lab.load(table)).metadata.snapshots[at]?.snapshotId)
}

/** Waits until the sink has as many rows as these ids, and expects them. */
async function expectIds(name: string, ids: readonly number[]): Promise<void> {
  await until(async () => (await lab.idsIn(`s.${name}_out`)).length >= ids.length)
  expect(await lab.idsIn(`s.${name}_out`)).toEqual(ids)
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)

async function deployed(place: Place, more: object): Promise<void> {
  const { status, body } = await lab.deploy(place, undefined, more)
  expect(status, JSON.stringify(body)).toBe(200)
  await until(async () => (await lab.deploymentOf(place)).rollout === null)
  expect(await lab.deploymentOf(place)).toMatchObject({ state: 'in_sync' })
}

describe('a deployment with a fresh checkpoint that begins at a point of its sources', { timeout: 180_000 }, () => {
  it('reads only rows that were appended after its start with `now`, also in the next version', async () => {
    await lab.tables('now')
    const place = await lab.define('now')
    const { body } = await lab.deploy(place, undefined, fresh('now', { dry_run: true }))
    expect(body.plan).toMatchObject({ sources: [{ table: 's.now_in', starts: 'later' }], known_rows: null })
    expect(body.plan.consequences).toEqual([
      'rows that s.now_in has when the new pipeline starts are not read: only rows that are appended later',
    ])
    const other = await lab.deploy(place, undefined, fresh('beginning', { plan_id: body.plan_id }))
    expect([other.status, other.body.errors?.[0]?.path], JSON.stringify(other.body)).toEqual([400, 'plan_id'])
    await lab.append('now', 10, 20)
    await deployed(place, fresh('now', { plan_id: body.plan_id }))
    await lab.append('now', 20, 30)
    await expectIds('now', range(20, 30))
    const { pipeline_id: id } = await lab.deploymentOf(place)
    expect(await lab.pipeline(id)).toMatchObject({ from: 'now' })
    await lab.users.addVersion(place.definitionId, graphOf(['s.now_in'], 's.now_out', 'id >= 1'))
    await deployed(place, {})
    expect(await lab.deploymentOf(place)).toMatchObject({ pipeline_id: id })
    await lab.append('now', 30, 40)
    await expectIds('now', range(20, 40))
  })

  it('keeps its start when the next version comes before it has read anything, into another sink', async () => {
    await lab.tables('idle')
    await lab.tables('idle2', 0)
    const place = await lab.define('idle')
    await deployed(place, fresh('now'))
    await lab.users.addVersion(place.definitionId, graphOf(['s.idle_in'], 's.idle2_out'))
    await deployed(place, {})
    await lab.append('idle', 10, 20)
    await expectIds('idle2', range(10, 20))
    expect(await lab.idsIn('s.idle_out')).toEqual([])
  })

  it('backfills from a snapshot into a sink that has the rows, and says so', async () => {
    await lab.tables('back')
    await lab.append('back', 10, 20)
    const place = await lab.define('back')
    await deployed(place, {})
    await lab.untilCopied('back', 20)
    const from = { snapshot_id: await snapshotOf('s.back_in', 0) }
    const { body } = await lab.deploy(place, undefined, fresh(from, { dry_run: true }))
    expect(body.plan).toMatchObject({
      sources: [{ starts: 'later', offset: { snapshot_id: from.snapshot_id } }],
      known_rows: { handling: 'repeated' },
    })
    expect(body.plan.consequences).toContain(
      `only rows of s.back_in that were appended after snapshot ${from.snapshot_id} are read`,
    )
    await deployed(place, fresh(from, { plan_id: body.plan_id }))
    await expectIds('back', [...range(0, 10), ...range(10, 20).flatMap((id) => [id, id])])
  })

  it('begins each of several sources at a time', async () => {
    await lab.tables('left', 5)
    await lab.tables('right', 0)
    const time = new Date().toISOString()
    await lab.append('left', 10, 15)
    await lab.append('right', 20, 25)
    const place = await lab.users.create('both', graphOf(['s.left_in', 's.right_in'], 's.left_out'))
    const one = await lab.deploy(place, undefined, fresh({ snapshot_id: await snapshotOf('s.left_in', 0) }))
    expect([one.status, one.body.errors?.[0]?.path], JSON.stringify(one.body)).toEqual([422, 'from.snapshot_id'])
    await deployed(place, fresh({ timestamp: time }))
    await expectIds('left', [...range(10, 15), ...range(20, 25)])
  })

  it('is refused with the field before anything is stopped', async () => {
    await lab.tables('no')
    const place = await lab.define('no')
    for (const [more, status, path] of [
      [{ from: 'now' }, 400, 'from'],
      [{ from: 'now', checkpoint: 'resume' }, 400, 'from'],
      [fresh({ snapshot_id: '1' }), 422, 'from.snapshot_id'],
      [fresh({ snapshot_id: '1' }, { dry_run: true }), 422, 'from.snapshot_id'],
      [fresh({ timestamp: '2999-01-01T00:00:00Z' }), 422, 'from.timestamp'],
    ] as const) {
      const answer = await lab.deploy(place, undefined, more)
      expect([answer.status, answer.body.errors?.[0]?.path], JSON.stringify(answer.body)).toEqual([status, path])
    }
    expect(await lab.deploymentOf(place)).toMatchObject({ state: 'none' })
  })
})

describe('a deployment that fills a branch', { timeout: 180_000 }, () => {
  it('leaves main as it is until the branch is published; the next version reads on only then', async () => {
    await lab.tables('filled')
    await lab.tables('other', 0)
    const place = await lab.define('filled')
    const manual = { into_branch: { name: 'fill' } }
    const { body } = await lab.deploy(place, undefined, fresh('beginning', { ...manual, dry_run: true }))
    expect(body.plan.consequences).toContain(
      'rows are written to the branch fill of s.filled_out first: main does not get them',
    )
    await deployed(place, fresh('beginning', manual))
    expect(await lab.idsIn('s.filled_out')).toEqual([])
    await lab.users.addVersion(place.definitionId, graphOf(['s.filled_in'], 's.other_out'))
    const elsewhere = await lab.deploy(place)
    expect(elsewhere.status, JSON.stringify(elsewhere.body)).toBe(409)
    expect(elsewhere.body.detail).toContain('are only in the branch fill of s.filled_out')
    await lab.users.addVersion(place.definitionId, graphOf(['s.filled_in'], 's.filled_out', 'id >= 1'))
    await deployed(place, {})
    await lab.append('filled', 10, 20)
    const refs = async () => (await lab.lab.load('s.filled_out')).metadata.refs
    await until(async () => {
      const id = (await refs())['fill']?.snapshotId
      return (await lab.lab.load('s.filled_out')).metadata.snapshots.at(-1)?.snapshotId === id
    })
    expect([await lab.idsIn('s.filled_out'), Object.keys(await refs())]).toEqual([[], ['fill']])
    const taken = await lab.deploy(place, undefined, fresh('now', manual))
    expect([taken.status, taken.body.errors[0].path]).toEqual([409, 'into_branch.name'])
    const published = { into_branch: { name: 'again', publish: 'when_caught_up' } }
    await deployed(place, fresh('beginning', published))
    await expectIds('filled', range(1, 20))
    expect(Object.keys(await refs()).sort()).toEqual(['fill', 'main'])
  })
})
