import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { LONG } from '../../support/effort.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService({ events: { commits: 6, filesPerCommit: 5, rowsPerFile: 100 } })
}, 300_000)
afterEach(() => service.close())

const details = (answer: { body: { details_json: string } }) => JSON.parse(answer.body.details_json)

describe('compaction', () => {
  it('answers success, operation, table and counts, and the table has fewer files and the same rows', async () => {
    const answer = await service.post('/api/compact', { table: 'demo.events' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ success: true, operation: 'compact', table: 'demo.events' })
    expect(details(answer)).toMatchObject({
      rewritten_data_files_count: 30,
      added_data_files_count: 1,
      removed_delete_files_count: 3,
      rows_read: 3000,
      rows_deleted: 30,
      rows_written: 2970,
      before: { data_file_count: 30, delete_file_count: 3 },
      after: { data_file_count: 1, delete_file_count: 0, score: 100 },
    })
    const { body: operation } = await service.get(`/api/operations/${answer.body.operation_id}`)
    expect(operation).toMatchObject({ state: 'succeeded', requested_by: 'admin', operation: 'compact' })
    expect(operation.snapshot_id).toBe(details(answer).snapshot_id)
  })

  it('a preview changes nothing and returns a plan that applies to the unchanged table, and is stale afterwards', async () => {
    const before = await service.get('/api/table/demo.events')
    const preview = await service.post('/api/compact', { table: 'demo.events', dry_run: true })
    expect(preview.body.operation_id).toBeNull()
    expect((await service.get('/api/table/demo.events')).body).toEqual(before.body)
    const { plan_id } = preview.body
    const changed = await service.post('/api/compact', { table: 'demo.events', plan_id, rewrite_all: true })
    expect(changed.status).toBe(400)
    expect(changed.body.errors[0].path).toBe('rewrite_all')
    const applied = await service.post('/api/compact', { table: 'demo.events', plan_id })
    for (const figure of ['rewritten_data_files_count', 'removed_delete_files_count', 'rows_deleted', 'rows_written']) {
      expect(details(preview)[figure], figure).toBe(details(applied)[figure])
    }
    const stale = await service.post('/api/compact', { table: 'demo.events', plan_id })
    expect(stale.status).toBe(409)
    expect(stale.body.code).toBe('PLAN_STALE')
    expect((await service.post('/api/expire', { table: 'demo.events', plan_id })).status).toBe(404)
  })

  it('respond-async answers 202 with the operation, whose events end with the outcome', async () => {
    const headers = { Prefer: 'respond-async' }
    const accepted = await service.post('/api/compact', { table: 'demo.events' }, { headers })
    expect(accepted.status).toBe(202)
    const location = accepted.headers.get('location')
    expect(location).toBe(`/api/operations/${accepted.body.operation_id}`)
    const { body: stream } = await service.get(`${location}/events`)
    const events = String(stream)
      .trim()
      .split('\n\n')
      .map((event) => JSON.parse(event.replace(/^event: operation\ndata: /, '')))
    expect(events.at(-1).state).toBe('succeeded')
    expect((await service.get(location ?? '')).body.result.rows_written).toBe(2970)
    expect((await service.call('DELETE', location ?? '')).status).toBe(409)
  })

  it('Operation-Group lists operations that were started together', LONG, async () => {
    const started = async (table: string, group?: string) => {
      const headers = group === undefined ? {} : { 'Operation-Group': group }
      return (await service.post('/api/rewrite-manifests', { table }, { headers })).body.operation_id
    }
    const ids = [await started('demo.events', 'monday.1'), await started('demo.events', 'monday.1')]
    const other = await started('demo.events', 'monday.2')
    const alone = await started('demo.events')
    const { body } = await service.get('/api/operations?group=monday.1')
    expect(body.operations.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort())
    expect((await service.get(`/api/operations/${other}`)).body.group).toBe('monday.2')
    expect((await service.get(`/api/operations/${alone}`)).body.group).toBeNull()
    const refused = await service.post(
      '/api/rewrite-manifests',
      { table: 'demo.events' },
      { headers: { 'Operation-Group': 'not a name' } },
    )
    expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect((await service.get('/api/operations?group=not%20a%20name')).status).toBe(400)
  })

  it('an operation that succeeded shows all of its files and bytes as done', LONG, async () => {
    for (const options of [{}, { rewrite_all: true, target_file_size_bytes: 1000, max_file_size_bytes: 2000 }]) {
      const { body } = await service.post('/api/compact', { table: 'demo.events', ...options })
      const { progress } = (await service.get(`/api/operations/${body.operation_id}`)).body
      expect(progress.files_total).toBeGreaterThan(0)
      expect([progress.files_done, progress.bytes_done]).toEqual([progress.files_total, progress.bytes_total])
    }
  })

  it('an operation that fails after its 202 is reported only in the ledger, and the service keeps running', async () => {
    const headers = { Prefer: 'respond-async' }
    const { body: planned } = await service.post('/api/compact', { table: 'demo.events', dry_run: true })
    await service.post('/api/compact', { table: 'demo.events' })
    const { plan_id } = planned
    const accepted = await service.post('/api/compact', { table: 'demo.events', plan_id }, { headers })
    expect(accepted.status).toBe(202)
    const location = accepted.headers.get('location') ?? ''
    await service.get(`${location}/events`) // ends when the operation has; an unhandled rejection fails the run
    expect((await service.get(location)).body).toMatchObject({ state: 'failed', error: { code: 'PLAN_STALE' } })
  })

  it('clusters the rows of files that a condition selects', async () => {
    const request = { table: 'demo.events', strategy: 'hilbert', columns: ['kind', 'amount'], rewrite_all: true }
    const where = "amount BETWEEN 0 AND 1000 OR NOT kind LIKE 'v%'"
    const preview = await service.post('/api/compact', { ...request, where, dry_run: true })
    expect(details(preview)).toMatchObject({ rewritten_data_files_count: 30, beyond_budget_files_count: 0 })
    expect(details(preview).groups[0].most_overlapping[0].overlaps).toBeGreaterThan(0)
    const applied = await service.post('/api/compact', { table: 'demo.events', plan_id: preview.body.plan_id })
    expect(details(applied)).toMatchObject({ rewritten_data_files_count: 30, verified: 'values' })
    const nothing = await service.post('/api/compact', { ...request, where: 'amount < 0', dry_run: true })
    expect(details(nothing)).toMatchObject({ rewritten_data_files_count: 0 })
  })

  it('invalid options are refused by name', LONG, async () => {
    for (const options of [
      { target_file_size_bytes: 100, min_file_size_bytes: 200 },
      { delete_ratio_threshold: 2 },
      { strategy: 'zorder' },
      { strategy: 'hilbert', columns: ['kind', 'kind'] },
      { strategy: 'binpack', columns: ['kind'] },
      { strategy: 'binpack', sort_order: 'id' },
      { strategy: 'sort', sort_order: 'zorder(id)' },
      { where: 'id; drop table x' },
      { min_input_files: 0 },
    ]) {
      const answer = await service.post('/api/compact', { table: 'demo.events', ...options })
      expect([400, 422], JSON.stringify(options)).toContain(answer.status)
    }
    expect((await service.post('/api/compact', { table: 'demo.no_such' })).status).toBe(404)
  })
})

describe('expiry', () => {
  it('keeps young snapshots, expires the requested ones, and reports what it deleted', async () => {
    await service.post('/api/compact', { table: 'demo.events' })
    const nothing = await service.post('/api/expire', { table: 'demo.events' })
    expect(details(nothing)).toMatchObject({ expired_snapshots_count: 0, deleted_data_files_count: 0 })
    const older_than = new Date(Date.now() + 60_000).toISOString()
    const all = await service.post('/api/expire', { table: 'demo.events', older_than, retain_last: 1 })
    expect(details(all)).toMatchObject({
      expired_snapshots_count: 9,
      deleted_data_files_count: 30,
      deleted_position_delete_files_count: 3,
    })
    const { body } = await service.get('/api/table/demo.events/health')
    expect(body).toMatchObject({ snapshot_count: 1, data_file_count: 1, record_count: 2970 })
  })

  it('an unknown snapshot and the current one are refused', LONG, async () => {
    const unknown = await service.post('/api/expire', { table: 'demo.events', snapshot_ids: ['42'] })
    expect(unknown.status).toBeGreaterThanOrEqual(400)
    const { body } = await service.get('/api/table/demo.events')
    const current = await service.post('/api/expire', {
      table: 'demo.events',
      snapshot_ids: [body.current_snapshot_id],
    })
    expect(current.status).toBeGreaterThanOrEqual(400)
    expect((await service.post('/api/expire', { table: 'demo.events', snapshot_ids: [1] })).status).toBe(400)
  })
})

describe('evolution', () => {
  it('adds, renames and drops a column', async () => {
    const added = await service.post('/api/evolve/add-column', {
      table: 'demo.events',
      name: 'channel',
      type: 'STRING',
      after: 'kind',
      comment: 'where it came from',
    })
    expect(added.body).toMatchObject({ success: true, operation: 'add_column' })
    const columns = async () => (await service.get('/api/table/demo.events/schema')).body.columns
    expect((await columns())[3]).toMatchObject({
      name: 'channel',
      type: 'string',
      nullable: true,
      comment: 'where it came from',
    })
    await service.post('/api/evolve/rename-column', { table: 'demo.events', name: 'channel', new_name: 'source' })
    expect((await columns())[3].name).toBe('source')
    const dropped = await service.post('/api/evolve/drop-column', { table: 'demo.events', name: 'source' })
    expect(dropped.status).toBe(200)
    expect(await columns()).toHaveLength(5)
  })
})

describe('manifests, orphans and rollback', () => {
  it('merges manifests and rolls back to an ancestor', async () => {
    const { body } = await service.get('/api/table/demo.events/snapshots')
    const merged = await service.post('/api/rewrite-manifests', { table: 'demo.events' })
    expect(details(merged).rewritten_manifests_count).toBeGreaterThan(1)
    const target = body.snapshots[5].snapshot_id
    const back = await service.post('/api/rollback', { table: 'demo.events', snapshot_id: target })
    expect(back.status).toBe(200)
    expect((await service.get('/api/table/demo.events')).body.current_snapshot_id).toBe(target)
  })

  it('never removes orphans younger than 24 hours', async () => {
    const young = await service.post('/api/remove-orphans', {
      table: 'demo.events',
      older_than: new Date().toISOString(),
    })
    expect(young.status).toBe(400)
    const none = await service.post('/api/remove-orphans', { table: 'demo.events', dry_run: true })
    expect(none.status).toBe(200)
  })
})

describe('repeated requests', () => {
  it('create one token; the repetition is refused, names the token, and has no secret', LONG, async () => {
    const headers = { 'Idempotency-Key': 'token-once' }
    const body = { user: 'ana', role: 'Auditor', name: 'laptop' }
    const first = await service.post('/api/auth/tokens', body, { headers })
    expect(first.status).toBe(201)
    const again = await service.post('/api/auth/tokens', body, { headers })
    expect([again.status, again.body.code]).toEqual([409, 'CONFLICT'])
    expect(again.body.detail).toContain(`token.create ${first.body.id}`)
    expect(JSON.stringify(again.body)).not.toContain(first.body.token)
    const made = (await service.get('/api/auth/tokens')).body.filter(({ user }: { user: string }) => user === 'ana')
    expect(made).toHaveLength(1)
    expect((await service.post('/api/auth/tokens', { ...body, name: 'x' }, { headers })).status).toBe(422)
    const refused = { 'Idempotency-Key': 'token-refused' }
    expect((await service.post('/api/auth/tokens', { user: 'ana' }, { headers: refused })).status).toBe(400)
    expect((await service.post('/api/auth/tokens', { user: 'ana' }, { headers: refused })).status).toBe(400)
  })

  it('have one effect under one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'compact-once' }
    const first = await service.post('/api/compact', { table: 'demo.events' }, { headers })
    const second = await service.post('/api/compact', { table: 'demo.events' }, { headers })
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect((await service.post('/api/compact', { table: 'demo.events', rewrite_all: true }, { headers })).status).toBe(
      422,
    )
    const { body } = await service.get('/api/operations?table=demo.events')
    expect(body.operations).toHaveLength(1)
  })
})
