import { mkdir } from 'node:fs/promises'
import { Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresDialect } from '../../src/storage/dialects/postgres.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { stateKinds } from '../support/state/state-kinds.ts'
import { until } from '../support/waiting.ts'
import { LONG } from '../support/effort.ts'

const postgres = stateKinds.find(({ name }) => name === 'PostgreSQL')!

/** Two services, each with its own home, on one PostgreSQL database. */
describe.skipIf(postgres.skip)('replicas on PostgreSQL', LONG, () => {
  let one: TestService
  let other: TestService
  let url = ''
  const env = { AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' }
  beforeEach(async () => {
    const { env: database, remove } = await postgres.place()
    url = database['DATABASE_URL'] ?? ''
    one = await startTestService({ env: { ...env, ...database }, onClose: remove })
    other = await startTestService({ env: { ...env, ...database } })
  })
  afterEach(async () => {
    await other.close()
    await one.close()
  })

  it('share tokens, and refuse a revoked one at once on both', async () => {
    const { body } = await one.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'x' })
    expect((await other.get('/api/auth/me', { token: body.token })).status).toBe(200)
    expect((await one.get('/api/auth/me', { token: body.token })).status).toBe(200)
    await other.call('DELETE', `/api/auth/tokens/${body.id}`)
    expect((await one.get('/api/auth/me', { token: body.token })).status).toBe(401)
  })

  it('write one audit log and one event log, both valid under load from both replicas', async () => {
    const before = (await one.get('/api/audit/verify')).body.checked
    const work = Array.from({ length: 100 }, (_, i) =>
      (i % 2 === 0 ? one : other).post('/api/pipeline-defs', { name: `d${i}`, description: '', nodes: [], edges: [] }),
    )
    expect((await Promise.all(work)).map(({ status }) => status)).toEqual(work.map(() => 201))
    const verified = (await other.get('/api/audit/verify')).body
    expect(verified).toMatchObject({ ok: true, checked: before + 100 })
    const { events } = (await one.get('/api/events?limit=1000')).body
    expect(events.map(({ seq }: { seq: number }) => seq)).toEqual(events.map((_: unknown, i: number) => i + 1))
  })

  it('answer a repeated request with the other replica’s answer', async () => {
    const definition = { name: 'once', description: '', nodes: [], edges: [] }
    const headers = { 'Idempotency-Key': 'same' }
    const first = await one.post('/api/pipeline-defs', definition, { headers })
    const second = await other.post('/api/pipeline-defs', definition, { headers })
    expect(second.body).toEqual(first.body)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? one : other).post('/api/pipeline-defs', definition, { headers: { 'Idempotency-Key': 'race' } }),
      ),
    )
    for (const { status } of answers) expect([201, 409]).toContain(status)
    expect((await one.get('/api/pipeline-defs')).body).toHaveLength(2)
  })

  it('accept exactly one of several decisions sent to both', async () => {
    const made = await one.post('/api/pipeline-defs', { name: 'd', description: '', nodes: [], edges: [] })
    const version = `/api/pipeline-defs/${made.body.definition.id}/versions/${made.body.version.id}`
    await one.post(`${version}/promote`, {})
    const { body: request } = await other.post(`${version}/promote`, {})
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? one : other).post(
          `/api/approvals/${request.id}/${i < 5 ? 'approve' : 'reject'}`,
          i < 5 ? {} : { reason: 'no' },
        ),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
  })

  it('do not change running work of the other replica at start, and settle the work of a stopped one', async () => {
    const held = await one.context.app.operations.start({
      kind: 'expire',
      table: 'no.such',
      context: { caller: { user: 'ada', role: 'LeadDataEngineer', via: 'token' }, requestId: 'req-held-open' },
      request: {},
      run: async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        throw signal.reason
      },
    })
    held.done.catch(() => undefined)
    const db = new Kysely<StateTables>({ dialect: postgresDialect(url) })
    const running = await db.selectFrom('operations').selectAll().where('id', '=', held.id).executeTakeFirstOrThrow()
    await db.insertInto('instances').values({ id: 99, started_at: running.created_at }).execute()
    await db
      .insertInto('operations')
      .values({ ...running, id: 'op-of-the-dead', table_name: 'no.other', instance_id: 99 })
      .execute()
    await db.destroy()

    await other.restart()
    expect((await other.get(`/api/operations/${held.id}`)).body.state).toBe('running')
    expect((await other.get('/api/operations/op-of-the-dead')).body).toMatchObject({
      state: 'failed',
      error: { code: 'INTERRUPTED' },
    })
    await one.call('DELETE', `/api/operations/${held.id}`)
    expect((await other.get(`/api/operations/${held.id}`)).body.state).toBe('cancelled')
  })

  it('recover after the server drops every connection, and receive each other’s events afterwards', async () => {
    await dropConnections(url)
    for (const service of [one, other]) {
      await until(async () => (await service.get('/api/pipeline-defs')).status === 200)
      const made = await service.post('/api/pipeline-defs', { name: 'after', description: '', nodes: [], edges: [] })
      expect(made.status).toBe(201)
    }
    const locks = async () => {
      const db = new Kysely({ dialect: postgresDialect(url) })
      // Locks of two numbers mark instances; the one of writing transactions has one number.
      const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and objsubid = 2
        and database = (select oid from pg_database where datname = current_database())`.execute(db)
      await db.destroy()
      return rows.length
    }
    await until(async () => (await locks()) >= 2)
    expect(await locks()).toBe(2)
  })

  it('use the catalog that was configured at either replica', async () => {
    const config = { catalog_type: 'hadoop', warehouse: `file://${one.folder}/elsewhere`, catalog_name: 'moved' }
    await mkdir(`${one.folder}/elsewhere`)
    expect((await one.call('PUT', '/api/config', { body: config })).status).toBe(200)
    await until(async () => (await other.get('/api/config')).body.catalog_name === 'moved')
    expect((await other.get('/api/config')).body).toMatchObject(config)
    expect((await other.get('/api/tables')).body.tables).toEqual([])
    const back = { ...config, catalog_name: 'back' }
    expect((await other.call('PUT', '/api/config', { body: back })).status).toBe(200)
  })
})

async function dropConnections(url: string): Promise<void> {
  const db = new Kysely({ dialect: postgresDialect(url) })
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`.execute(db)
  await db.destroy()
}
