import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

const TABLE = 'demo.events'
const PATH = '/api/rewrite-position-deletes'

let service: TestService
beforeAll(async () => {
  // a merge-on-read writer leaves a delete file at every second commit
  service = await startTestService({
    events: { commits: 12, filesPerCommit: 1, rowsPerFile: 100 },
    overrides: { automation: { index: { pollMs: 50, remeasureMs: 0 }, policyTickMs: 100 } },
  })
}, 300_000)
afterAll(() => service.close())

const details = (answer: { body: { details_json: string } }) => JSON.parse(answer.body.details_json)

async function countRows(): Promise<number> {
  const { body } = await service.post('/api/compact', { table: TABLE, rewrite_all: true, dry_run: true })
  return details({ body }).rows_written
}

describe('POST /api/rewrite-position-deletes', () => {
  it('refuses options that it does not have, roles below DataEngineer and unknown tables', async () => {
    const refused = await service.post(PATH, { table: TABLE, strategy: 'sort' })
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'strategy'])
    expect((await service.post(PATH, { table: TABLE, min_input_files: 0 })).status).toBe(400)
    expect((await service.post(PATH, { table: 'demo.nothing' })).status).toBe(404)
    expect((await service.post(PATH, { table: TABLE }, { headers: { authorization: 'Bearer none' } })).status).toBe(401)
  })

  it('previews without a change, and applies exactly that plan with receipt, ledger and audit', async () => {
    const rows = await countRows()
    const before = await service.get(`/api/table/${TABLE}`)
    const preview = await service.post(PATH, { table: TABLE, dry_run: true })
    expect(preview.body).toMatchObject({ success: true, operation: 'rewrite_position_deletes', operation_id: null })
    expect(details(preview)).toMatchObject({ rewritten_delete_files_count: 6, added_delete_files_count: 1 })
    expect((await service.get(`/api/table/${TABLE}`)).body).toEqual(before.body)
    const { plan_id } = preview.body
    const applied = await service.post(PATH, { table: TABLE, plan_id })
    expect(applied.status).toBe(200)
    expect(details(applied)).toMatchObject({
      rewritten_delete_files_count: 6,
      added_delete_files_count: 1,
      rewritten_deletes_count: 60,
      added_deletes_count: 60,
      before: { delete_file_count: 6 },
      after: { delete_file_count: 1 },
    })
    expect(await countRows()).toBe(rows)
    const { body: operation } = await service.get(`/api/operations/${applied.body.operation_id}`)
    expect(operation).toMatchObject({
      state: 'succeeded',
      operation: 'rewrite_position_deletes',
      progress: { files_done: 6, files_total: 6 },
      receipt: {
        projected: { delete_files_removed: 5, bytes_freed: null, storage_freed_bytes: null },
        measured: { delete_files_removed: 5, files_removed: 0 },
        scan: { before: { delete_files: 6 }, after: { delete_files: 1 } },
      },
    })
    const { body: audit } = await service.get('/api/audit')
    expect(JSON.stringify(audit)).toContain(applied.body.operation_id)
    const stale = await service.post(PATH, { table: TABLE, plan_id })
    expect([stale.status, stale.body.code]).toEqual([409, 'PLAN_STALE'])
    const nothing = await service.post(PATH, { table: TABLE })
    expect(details(nothing)).toMatchObject({ rewritten_delete_files_count: 0, added_delete_files_count: 0 })
  })

  it('can be rolled back', async () => {
    const rows = await countRows()
    const { body } = await service.get(`/api/table/${TABLE}/snapshots`)
    const parent = body.snapshots.find(
      (snapshot: { snapshot_id: string }) => snapshot.snapshot_id === body.snapshots[0].parent_snapshot_id,
    )
    const undone = await service.post('/api/rollback', {
      table: TABLE,
      snapshot_id: parent?.snapshot_id ?? body.snapshots[1].snapshot_id,
    })
    expect(undone.status).toBe(200)
    expect(await countRows()).toBe(rows)
    expect(details(await service.post(PATH, { table: TABLE, dry_run: true })).rewritten_delete_files_count).toBe(6)
  })

  it('is not recommended while a compaction removes the deletes anyway', async () => {
    const { body } = await service.get(`/api/table/${TABLE}/health`)
    const operations = body.actions.map(({ operation }: { operation: string }) => operation)
    expect(operations).toContain('compact')
    expect(operations).not.toContain('rewrite_position_deletes')
  })

  it('runs by a policy with options of its own', async () => {
    const created = await service.post('/api/policies', {
      name: 'deletes',
      tables: [TABLE],
      operations: [{ operation: 'rewrite_position_deletes', options: { min_input_files: 3 } }],
      when: { snapshots_over: 1 },
      mode: 'active',
    })
    expect(created.status).toBe(201)
    const ran = async (): Promise<boolean> => {
      const { body } = await service.get(`/api/operations?table=${TABLE}`)
      return body.operations.some(
        (one: { operation: string; requested_by: string; state: string }) =>
          one.operation === 'rewrite_position_deletes' &&
          one.requested_by.startsWith('policy:') &&
          one.state === 'succeeded',
      )
    }
    await until(ran)
    expect(details(await service.post(PATH, { table: TABLE, dry_run: true })).rewritten_delete_files_count).toBe(0)
  })
})
