import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'

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

interface Point {
  readonly snapshot_id: string
  readonly made_current_at: string
  readonly current_until: string | null
  readonly obstacle: string | null
}

let made = 0
/** A table with three appends of ten rows each, no two of them in the same millisecond. */
async function makeTable(): Promise<string> {
  const table = `s.r${(made += 1)}`
  await lab.createTable(table, COLUMNS)
  for (let at = 0; at < 3; at += 1) await append(table, at * 10)
  return table
}

async function append(table: string, from: number): Promise<void> {
  await nextMillisecond(table)
  await lab.append(table, numbered(from, from + 10))
}

/** Waits until the clock is ahead of the last change of a table. */
async function nextMillisecond(table: string): Promise<void> {
  const { metadata } = await lab.load(table)
  await until(() => Date.now() > metadata.lastUpdatedMs)
}

const list = (query: string) => lab.service.get(`/api/recovery-points?${query}`)
async function pointsOf(table: string): Promise<readonly Point[]> {
  const { status, body } = await list(`table=${table}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.recovery_points
}

const rollback = async (table: string, body: object) => {
  await nextMillisecond(table)
  return life.lead.call('POST', '/api/rollback', { table, ...body })
}
const details = (answer: { readonly body: { readonly details_json: string } }) => JSON.parse(answer.body.details_json)
const later = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString()
const current = async (table: string): Promise<string> => String((await lab.load(table)).metadata.currentSnapshotId)

describe('the list of recovery points', () => {
  it('has each state with what it committed and its times, newest first, in pages', async () => {
    const table = await makeTable()
    const { body } = await list(`table=${table}`)
    const { metadata } = await lab.load(table)
    const [newest, middle, oldest] = body.recovery_points
    expect(body).toMatchObject({ table, branch: 'main', earliest_at: oldest.made_current_at, earlier: 'no_snapshot' })
    expect(body.recovery_points.map(({ snapshot_id }: Point) => snapshot_id)).toEqual(
      metadata.snapshotLog.map(({ snapshotId }) => String(snapshotId)).toReversed(),
    )
    expect(newest).toMatchObject({ current_until: null, is_current: true, is_readable: true, is_restorable: true })
    expect(middle).toMatchObject({ current_until: newest.made_current_at, is_current: false, operation: 'append' })
    expect(middle.summary).toMatchObject({ 'added-records': '10', 'total-records': '20' })
    const first = (await list(`table=${table}&page_size=2`)).body
    const second = (await list(`table=${table}&page_size=2&page_token=${first.next_page_token}`)).body
    expect([...first.recovery_points, ...second.recovery_points]).toEqual(body.recovery_points)
    expect(second.next_page_token).toBeNull()
  })

  it('has the one state of a time with `at`, and none before the first', async () => {
    const table = await makeTable()
    const [newest, middle, oldest] = await pointsOf(table)
    const at = async (time: string) => (await list(`table=${table}&at=${time}`)).body.recovery_points
    expect(await at(middle!.made_current_at)).toEqual([middle])
    expect(await at(later(middle!.current_until ?? '', -1))).toEqual([middle])
    expect(await at('2099-01-01T00:00:00Z')).toEqual([newest])
    expect(await at(later(oldest!.made_current_at, -1))).toEqual([])
  })

  it('has the states of a branch, and refuses a tag and an unknown branch', async () => {
    const table = await makeTable()
    const [, middle] = await pointsOf(table)
    const snapshotId = BigInt(middle?.snapshot_id ?? 0)
    const refs = (['branch', 'tag'] as const).map((type) => ({
      action: 'set-snapshot-ref' as const,
      'ref-name': `my ${type}`,
      type,
      'snapshot-id': snapshotId,
    }))
    await commitTable(lab.catalog(), parseIdentifier(table), async () => ({
      requirements: [],
      updates: refs,
      writtenFiles: [],
    }))
    const { body } = await list(`table=${table}&branch=my%20branch`)
    expect(body.recovery_points).toMatchObject([
      { snapshot_id: middle?.snapshot_id, is_current: true, is_restorable: false, obstacle: 'not_main' },
      { is_current: false, obstacle: 'not_main' },
    ])
    for (const branch of ['my%20tag', 'toString']) {
      const refused = await list(`table=${table}&branch=${branch}`)
      expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'branch'])
    }
    expect((await list('table=s.no_such')).status).toBe(404)
  })
})

describe('a rollback to a time', () => {
  it('does what its preview says: the rows of that time come back, and the ledger names the time', async () => {
    const table = await makeTable()
    const [, middle] = await pointsOf(table)
    const time = later(middle?.current_until ?? '', -1)
    const preview = await rollback(table, { to_timestamp: time, dry_run: true })
    const planned = {
      to_timestamp: time,
      made_current_at: middle?.made_current_at,
      current_until: middle?.current_until,
      current_snapshot_id: middle?.snapshot_id,
      undone_snapshots_count: 1,
    }
    expect(details(preview)).toMatchObject({ ...planned, impact: { used_by: [] }, affected_pipelines: [] })
    expect(await lab.rows(table)).toHaveLength(30)
    const { plan_id } = preview.body
    const other = await rollback(table, { plan_id, to_timestamp: later(time, -1) })
    expect([other.status, other.body.errors[0].path]).toEqual([400, 'to_timestamp'])
    const applied = await rollback(table, { plan_id })
    expect(details(applied)).toMatchObject(planned)
    expect(await lab.rows(table)).toHaveLength(20)
    const operation = (await lab.service.get(`/api/operations/${applied.body.operation_id}`)).body
    expect(operation).toMatchObject({ state: 'succeeded', request: { plan_id }, snapshot_id: middle?.snapshot_id })
    expect((await rollback(table, { plan_id })).body.code).toBe('PLAN_STALE')
  })

  it('is refused for a plan when another commit changes the table after the preview', async () => {
    const table = await makeTable()
    const [, middle] = await pointsOf(table)
    const preview = await rollback(table, { to_timestamp: middle?.made_current_at, dry_run: true })
    await append(table, 30)
    const stale = await rollback(table, { plan_id: preview.body.plan_id })
    expect([stale.status, stale.body.code]).toEqual([409, 'PLAN_STALE'])
  })

  it('takes the state at that time after two rollbacks, and refuses states outside of the history', async () => {
    const table = await makeTable()
    const [third, second, first] = await pointsOf(table)
    expect((await rollback(table, { snapshot_id: second?.snapshot_id })).status).toBe(200)
    await append(table, 30)
    expect((await rollback(table, { to_timestamp: second?.made_current_at })).status).toBe(200)
    await append(table, 40)
    const points = await pointsOf(table)
    expect(points.map(({ obstacle }) => obstacle)).toEqual([
      null,
      null,
      'not_in_history',
      null,
      'not_in_history',
      null,
      null,
    ])
    const undone = await rollback(table, { to_timestamp: third?.made_current_at, dry_run: true })
    expect([undone.status, undone.body.code]).toEqual([422, 'UNPROCESSABLE'])
    expect(undone.body.detail).toContain(`snapshot ${third?.snapshot_id}, which is no ancestor`)
    const between = points[3]?.made_current_at // the first rollback made the second snapshot current again
    expect(details(await rollback(table, { to_timestamp: between })).current_snapshot_id).toBe(second?.snapshot_id)
    expect(await lab.rows(table)).toHaveLength(20)
    const before = await rollback(table, { to_timestamp: later(first?.made_current_at ?? '', -1) })
    expect(before.body.errors).toMatchObject([
      { path: 'to_timestamp', message: expect.stringContaining('had no snap') },
    ])
  })

  it('is refused for expired states with the earliest time that is left', async () => {
    const table = await makeTable()
    const [, middle, oldest] = await pointsOf(table)
    const expiry = { table, snapshot_ids: [oldest?.snapshot_id] }
    expect((await life.lead.call('POST', '/api/expire', expiry)).status).toBe(200)
    const { body } = await list(`table=${table}`)
    expect(body).toMatchObject({ earliest_at: middle?.made_current_at, earlier: 'expired' })
    const refused = await rollback(table, { to_timestamp: oldest?.made_current_at })
    expect(refused.status).toBe(422)
    expect(refused.body.detail).toContain(
      `restored is ${middle?.made_current_at}, because older snapshots have expired`,
    )
  })

  it('needs one target, in the past, and a lead', async () => {
    const table = await makeTable()
    const snapshot_id = await current(table)
    const fields = async (body: object) => {
      const answer = await rollback(table, body)
      return [answer.status, answer.body.errors.map(({ path }: { path: string }) => path)]
    }
    expect(await fields({})).toEqual([400, ['snapshot_id']])
    expect(await fields({ snapshot_id, to_timestamp: '2026-01-01T00:00:00Z' })).toEqual([400, ['to_timestamp']])
    expect(await fields({ to_timestamp: '14:05' })).toEqual([400, ['to_timestamp']])
    expect(await fields({ to_timestamp: '2099-01-01T00:00:00Z' })).toEqual([422, ['to_timestamp']])
    const body = { table, to_timestamp: new Date().toISOString(), dry_run: true }
    expect((await life.engineer.call('POST', '/api/rollback', body)).status).toBe(403)
    expect(await current(table)).toBe(snapshot_id)
  })
})
