import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../../support/service.ts'

const TABLE = 'demo.events'
const PRICES = { COST_PER_GB_MONTH: '0.5', COST_PER_1000_REQUESTS: '0.004', COST_CURRENCY: 'EUR' }

describe('the savings', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({ env: PRICES, events: { commits: 30, filesPerCommit: 1, rowsPerFile: 10 } })
  })
  afterAll(() => service.close())

  const report = async () => (await service.get('/api/savings')).body
  const figures = async (kind: string) => {
    const { rows } = await report()
    return rows.find(({ operation }: { operation: string }) => operation === kind)
  }
  const operation = async (id: string) => (await service.get(`/api/operations/${id}`)).body
  const run = async (path: string, request: object) => {
    const { status, body } = await service.post(path, { table: TABLE, ...request })
    expect(status, JSON.stringify(body)).toBe(200)
    return { ...(await operation(body.operation_id)), details: JSON.parse(body.details_json) }
  }

  it('are empty before the first operation', async () => {
    const { total, rows, money } = await report()
    expect(rows).toEqual([])
    expect(total).toMatchObject({ operations: 0, storage_freed_bytes: 0, scan_requests_saved: 0 })
    expect(money).toEqual({ currency: 'EUR', storage_per_month: 0, thousand_scans: 0 })
  })

  it('of a planned compaction are its receipt, with estimate and measure apart', async () => {
    const plan = await service.post('/api/compact', { table: TABLE, dry_run: true })
    const ran = await run('/api/compact', { plan_id: plan.body.plan_id })
    const { receipt, details } = ran
    const row = await figures('compact')
    expect(details.rewritten_data_files_count).toBeGreaterThan(20)
    expect(row).toMatchObject({
      date: ran.created_at.slice(0, 10),
      by: 'person',
      operations: 1,
      undone: 0,
      unmeasured: 0,
      duration_ms: ran.duration_ms,
      files_before: details.rewritten_data_files_count,
      files_after: details.added_data_files_count,
      bytes_before: details.rewritten_bytes_count,
      bytes_after: details.added_bytes_count,
      bytes_rewritten: details.rewritten_bytes_count,
      storage_added_bytes: details.added_bytes_count,
      storage_freed_bytes: 0,
      scan_requests_saved: receipt.scan.before.requests - receipt.scan.after.requests,
    })
    const removed = receipt.measured.files_removed + receipt.measured.delete_files_removed
    expect(row.planned).toEqual({
      operations: 1,
      files_removed: { estimated: removed, measured: removed },
      storage_freed_bytes: { estimated: 0, measured: 0 },
    })
    const { total, by_people: people, by_policies: policies } = await report()
    expect(people).toEqual(total)
    expect(policies.operations).toBe(0)
  })

  it('count a compaction that a rollback undid by its costs only', async () => {
    const before = await figures('compact')
    const back = await service.get(`/api/table/${TABLE}/snapshots`)
    const [compacted, appended] = back.body.snapshots
    const ran = await run('/api/rollback', { snapshot_id: appended.snapshot_id })
    expect(ran.details.undone_snapshot_ids).toEqual([compacted.snapshot_id])
    const after = await figures('compact')
    expect(after).toMatchObject({
      operations: 1,
      undone: 1,
      duration_ms: before.duration_ms,
      bytes_rewritten: before.bytes_rewritten,
      storage_added_bytes: before.storage_added_bytes,
      files_before: 0,
      files_after: 0,
      bytes_before: 0,
      scan_requests_saved: 0,
      planning_saved_ms: 0,
      planned: { operations: 0 },
    })
    await run('/api/compact', {})
    expect(await figures('compact')).toMatchObject({
      operations: 2,
      undone: 1,
      files_before: before.files_before,
      bytes_rewritten: before.bytes_rewritten * 2,
      planned: { operations: 0 },
    })
  })

  it('count a request once that is repeated with its key', async () => {
    const headers = { 'Idempotency-Key': 'again' }
    const ask = () => service.post('/api/rewrite-manifests', { table: TABLE }, { headers })
    const [first, second] = [await ask(), await ask()]
    expect(second.body.operation_id).toBe(first.body.operation_id)
    expect(await figures('rewrite_manifests')).toMatchObject({ operations: 1 })
  })

  it('of an expiry are stored as long as its files are in quarantine, and none once they are restored', async () => {
    const older = new Date(Date.now() + 1000).toISOString()
    const ran = await run('/api/expire', { older_than: older, retain_last: 1 })
    const freed = ran.receipt.measured.storage_freed_bytes
    expect(freed).toBeGreaterThan(0)
    const held = await figures('expire')
    expect(held).toMatchObject({ storage_freed_bytes: freed, quarantined_bytes: freed, undone: 0 })
    expect(held.files_deleted).toBeGreaterThan(20)
    const { money, total } = await report()
    expect(money.storage_per_month).toBeCloseTo((-total.storage_added_bytes / 1e9) * 0.5, 12)

    const { entries } = (await service.get('/api/quarantine')).body
    const restored = await service.post(`/api/quarantine/${entries[0].id}/restore`, {})
    expect(restored.status, JSON.stringify(restored.body)).toBe(200)
    expect(await figures('expire')).toMatchObject({
      operations: 1,
      undone: 1,
      storage_freed_bytes: 0,
      quarantined_bytes: 0,
      files_deleted: 0,
    })
    expect(await figures('restore')).toMatchObject({ operations: 1, unmeasured: 0, storage_freed_bytes: 0 })
  })

  it('of an expiry stay when a rollback returns to an older snapshot that the expiry kept', async () => {
    const older = new Date(Date.now() + 1000).toISOString()
    await run('/api/expire', { older_than: older, retain_last: 2 })
    const before = await figures('expire')
    const { snapshots } = (await service.get(`/api/table/${TABLE}/snapshots`)).body
    await run('/api/rollback', { snapshot_id: snapshots[1].snapshot_id })
    expect(await figures('expire')).toEqual(before)
  })

  it('count time and number of operations that failed', async () => {
    await service.post('/api/rollback', { table: TABLE, snapshot_id: '1' })
    const { rows } = await report()
    const rollbacks = rows.find(({ operation: kind }: { operation: string }) => kind === 'rollback')
    expect(rollbacks).toMatchObject({ operations: 2, failed: 1 })
  })

  it.each([
    ['?from=2026-02-01&to=2026-01-01', 'from', 'must not be after to (2026-01-01)'],
    ['?from=2020-01-01&to=2026-01-01', 'from', 'must be at most 366 days before to (2026-01-01)'],
    ['?from=yesterday', 'from', ''],
    ['?to=2026-02-30', 'to', ''],
    ['?day=2026-01-01', 'day', ''],
  ])('refuse the range %s', async (query, path, message) => {
    const { status, body } = await service.get(`/api/savings${query}`)
    expect(status).toBe(400)
    expect(body.errors[0]).toMatchObject({ path, message: expect.stringContaining(message) })
  })
})
