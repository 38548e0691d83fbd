import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { sleep, until } from '../../support/waiting.ts'

const FAST = { automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 } }
const COMPACT = {
  name: 'nightly',
  tables: ['demo.*'],
  operations: [{ operation: 'compact' }],
  when: { small_files_over: 5 },
  mode: 'active',
}

/** A time zone in which a window of one hour is closed now. */
function closedWindow() {
  const hour = (new Date().getUTCHours() + 12) % 24
  const two = (n: number): string => String(n % 24).padStart(2, '0')
  return {
    timezone: 'UTC',
    days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
    from: `${two(hour)}:00`,
    to: `${two(hour + 1)}:00`,
  }
}

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))('policies on $name', ({ place }) => {
  let service: TestService
  beforeAll(async () => {
    const { env, remove } = await place()
    service = await startTestService({
      env,
      events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 },
      overrides: FAST,
      onClose: remove,
    })
  })
  afterAll(() => service.close())

  const create = async (change: object) => {
    const answer = await service.post('/api/policies', { ...COMPACT, ...change })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.id as string
  }
  const decisions = async (id: string) => (await service.get(`/api/policies/${id}/decisions`)).body.decisions
  const decided = (id: string, outcome: string, reason?: string) =>
    until(
      async () =>
        (await decisions(id)).find(
          (one: { outcome: string; reason: string }) =>
            one.outcome === outcome && (reason === undefined || one.reason === reason),
        ),
      async () => `${outcome} ${reason}: ${JSON.stringify(await decisions(id))}`,
    )
  const rows = async () => (await service.get('/api/table/demo.events/health')).body.record_count
  const operations = async () => (await service.get('/api/operations')).body.operations

  it('of shadow mode decide and change nothing', async () => {
    const id = await create({ name: 'shadow', mode: undefined })
    const decision = await decided(id, 'would_run')
    expect(decision).toMatchObject({ table: 'demo.events', operation: 'compact', reason: 'due', operation_id: null })
    expect(decision.detail).toMatch(/small files are over 5/)
    expect(decision.planned_bytes).toBeGreaterThan(0)
    await sleep(300)
    expect(await operations()).toEqual([])
    expect(await decisions(id)).toHaveLength(1)
    await service.call('DELETE', `/api/policies/${id}`)
  })

  it('wait for their window, and say until when', async () => {
    const id = await create({ name: 'window', window: closedWindow() })
    const decision = await decided(id, 'deferred', 'window_closed')
    expect(Date.parse(decision.not_before)).toBeGreaterThan(Date.now())
    expect(await operations()).toEqual([])
    await service.call('DELETE', `/api/policies/${id}`)
  })

  it('never exceed their bytes per hour', async () => {
    const id = await create({ name: 'budget', budget: { bytes_per_hour: 10 } })
    await decided(id, 'deferred', 'budget_spent')
    expect(await operations()).toEqual([])
    await service.call('DELETE', `/api/policies/${id}`)
  })

  it('leave a table alone whose property says so', async () => {
    const preview = await service.post('/api/policies/preview', { ...COMPACT, except: ['demo.ev*'] })
    expect(preview.body).toMatchObject({ matched_count: 0, runs_count: 0 })
  })

  it('of lower priority do not govern', async () => {
    const high = await create({ name: 'high', priority: 2, window: closedWindow() })
    const low = await create({ name: 'low', priority: 1, mode: 'shadow' })
    await decided(high, 'deferred', 'window_closed')
    await sleep(100)
    expect(await decisions(low)).toEqual([])
    const { body } = await service.get('/api/table/demo.events/policy')
    expect(body.operations).toMatchObject([
      { operation: 'compact', policy: { id: high }, overridden: [{ id: low, name: 'low' }] },
    ])
    const preview = await service.post('/api/policies/preview', { ...COMPACT, name: 'low', priority: 1 })
    expect(preview.body).toMatchObject({
      governed_elsewhere_count: 1,
      governed_elsewhere_by: [{ policy: 'high', tables: 1 }],
    })
    await service.call('DELETE', `/api/policies/${low}`)
    await service.call('DELETE', `/api/policies/${high}`)
  })

  it('preview what they would do', async () => {
    const { status, body } = await service.post('/api/policies/preview', COMPACT)
    expect(status).toBe(200)
    expect(body).toMatchObject({ matched_count: 1, matched_tables: ['demo.events'], runs_count: 1 })
    expect(body.runs[0]).toMatchObject({ table: 'demo.events', operation: 'compact' })
    expect(body.projected_mean_score).toBeGreaterThan(body.mean_score)
    const closed = await service.post('/api/policies/preview', { ...COMPACT, budget: { bytes_per_hour: 1 } })
    expect(closed.body.runs[0].at).toBeNull()
  })

  it('run when they are due, once, and say what was gained', async () => {
    const before = await rows()
    const created = await service.post('/api/policies', COMPACT)
    const id: string = created.body.id
    const decision = await decided(id, 'ran')
    expect(decision.operation_id).toMatch(/^op-/)
    expect(decision.score_after).toBeGreaterThan(decision.score_before)
    const [operation, ...others] = await operations()
    expect(others).toEqual([])
    expect(operation).toMatchObject({ id: decision.operation_id, requested_by: 'policy:nightly', state: 'succeeded' })
    // 15 rows are marked as deleted in the files that the table begins with
    expect(await rows()).toBe(before - 15)
    await sleep(300)
    expect(await operations()).toHaveLength(1)
    // The tag of before the run: the settings are the same, the figures are not.
    const known = { 'If-None-Match': created.headers.get('etag') ?? '' }
    const { status, body, headers } = await service.get(`/api/policies/${id}`, { headers: known })
    expect(status).toBe(200)
    const same = { 'If-None-Match': headers.get('etag') ?? '' }
    expect((await service.get(`/api/policies/${id}`, { headers: same })).status).toBe(304)
    expect(body.gains).toMatchObject({ runs: 1 })
    expect(body.gains.files_removed).toBeGreaterThan(20)
    const { receipt } = (await service.get(`/api/operations/${decision.operation_id}`)).body
    const { scan } = receipt
    expect(body.gains).toMatchObject({
      files_removed: receipt.measured.files_removed,
      delete_files_removed: receipt.measured.delete_files_removed,
      storage_freed_bytes: receipt.measured.storage_freed_bytes,
      scan_requests_saved: scan.before.requests - scan.after.requests,
      projected: { files_removed: receipt.projected.files_removed },
      money: null,
    })
    expect(body.gains.planning_saved_ms).toBeCloseTo(scan.before.planning_ms - scan.after.planning_ms, 3)
    expect(receipt.money).toBeNull()
  })

  it('are changed only if they are as the caller read them, and have one name each', async () => {
    const [first] = (await service.get('/api/policies')).body.policies
    const url = `/api/policies/${first.id}`
    const stale = await service.call('PUT', url, { body: COMPACT, headers: { 'If-Match': '"99"' } })
    expect(stale.status).toBe(412)
    const changed = await service.call('PUT', url, {
      body: { ...COMPACT, priority: 7 },
      headers: { 'If-Match': '"1"' },
    })
    expect(changed.body).toMatchObject({ priority: 7, revision: 2 })
    const tag = (await service.get(url)).headers.get('etag') ?? ''
    const again = await service.call('PUT', url, { body: { ...COMPACT, priority: 8 }, headers: { 'If-Match': tag } })
    expect(again.body).toMatchObject({ priority: 8, revision: 3 })
    const old = await service.call('PUT', url, { body: COMPACT, headers: { 'If-Match': tag } })
    expect(old.status).toBe(412)
    expect((await service.post('/api/policies', COMPACT)).status).toBe(409)
  })

  it.each([
    ['no condition', 400, { when: {} }],
    ['no cooldown', 400, { cooldown: '0 minutes' }],
    ['an unknown time zone', 422, { window: { ...closedWindow(), timezone: 'Mars/Olympus' } }],
    ['a cron of six fields', 422, { when: { schedule: { cron: '* * * * * *', timezone: 'UTC' } } }],
    ['a day that never comes', 422, { when: { schedule: { cron: '0 0 31 2 *', timezone: 'UTC' } } }],
    ['an operation twice', 422, { operations: [{ operation: 'compact' }, { operation: 'compact' }] }],
    ['an operation that is no maintenance', 400, { operations: [{ operation: 'rollback' }] }],
    ['files of others', 400, { operations: [{ operation: 'expire', options: { delete_foreign_files: true } }] }],
    [
      'a fixed time',
      400,
      { operations: [{ operation: 'remove_orphans', options: { older_than: '2026-01-01T00:00:00Z' } }] },
    ],
    ['a table as an option', 400, { operations: [{ operation: 'compact', options: { table: 'demo.other' } }] }],
  ])('refuse %s', async (_what, expected, change) => {
    const { status } = await service.post('/api/policies', { ...COMPACT, name: 'refused', ...change })
    expect(status).toBe(expected)
  })
})
