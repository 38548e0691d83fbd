import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../../support/state/state-kinds.ts'
import { until } from '../../../support/waiting.ts'

const FAST = { automation: { index: { pollMs: 20, remeasureMs: 0 } } }

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))('the health index on $name', ({ place }) => {
  let service: TestService
  beforeAll(async () => {
    const { env, remove } = await place()
    service = await startTestService({
      env,
      events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 },
      overrides: FAST,
      onClose: remove,
    })
    service.context.startBackground()
  })
  afterAll(() => service.close())

  const index = async (query = '') => (await service.get(`/api/health-index${query}`)).body
  const row = async (table: string) => (await index()).tables.find((one: { table: string }) => one.table === table)
  const health = async () => (await service.get('/api/table/demo.events/health')).body
  /** The row after the last commit that made the table. */
  const complete = () =>
    until(async () => {
      const [found, { snapshot_count: snapshots }] = [await row('demo.events'), await health()]
      return found?.snapshot_count === snapshots && found
    })

  it('has the figures of the health report', async () => {
    const found = await complete()
    const report = await health()
    for (const figure of [
      'score',
      'data_file_count',
      'total_size_bytes',
      'small_file_count',
      'delete_file_count',
      'snapshot_count',
      'manifest_count',
      'partition_count',
      'record_count',
    ]) {
      expect(found[figure], figure).toBe(report[figure])
    }
    expect(found.recommended).toEqual(report.actions.map(({ operation }: { operation: string }) => operation))
    expect((await index()).totals).toMatchObject({ tables: 1, bytes: report.total_size_bytes })
  })

  it('follows a commit and keeps a sample', async () => {
    const before = await complete()
    expect((await service.post('/api/compact', { table: 'demo.events' })).status).toBe(200)
    const after = await until(async () => {
      const now = await row('demo.events')
      return now.data_file_count < before.data_file_count && now
    })
    expect(after.held_bytes).toBeGreaterThan(0)
    expect(after.last_commit_at).toBe(before.last_commit_at)
    const { body } = await service.get('/api/table/demo.events/health/history')
    expect(body.samples[0]).toMatchObject({ score: after.score, data_file_count: after.data_file_count })
    const days = (await service.get('/api/table/demo.events/health/history?kind=day')).body.samples
    expect(days).toHaveLength(1)
    expect((await service.get('/api/table/demo.none/health/history')).status).toBe(404)
  })

  it('refuses the token of another order', async () => {
    expect((await service.get('/api/health-index?page_token=nonsense')).status).toBe(400)
    expect((await service.get('/api/health-index?sort=size')).status).toBe(400)
  })
})
