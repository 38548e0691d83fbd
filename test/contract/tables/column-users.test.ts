import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'

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
  ['spare', 'string'],
  ['unread', 'string'],
] as const

let made = 0
/** A table, and a version of `filter by name → select id` over it into another one. */
async function tableWithVersion(environment: 'qa' | 'uat' | 'production' | 'retired') {
  const table = `s.t${(made += 1)}`
  await lab.createTable(table, COLUMNS)
  await lab.createTable(`${table}_out`, COLUMNS)
  const place = await versionIn(table, environment)
  return { table, place }
}

async function versionIn(table: string, environment: 'qa' | 'uat' | 'production' | 'retired'): Promise<Place> {
  const place = await life.create(`users of ${table}`, {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table } },
      { id: 'keep', type: 'filter', config: { condition: 'name IS NOT NULL' } },
      { id: 'pick', type: 'sql', config: { query: "SELECT id, 'spare' AS note FROM input" } },
      { id: 'out', type: 'iceberg-sink', config: { table: `${table}_out` } },
    ],
    edges: [
      { id: 'a', source: 'in', target: 'keep' },
      { id: 'b', source: 'keep', target: 'pick' },
      { id: 'c', source: 'pick', target: 'out' },
    ],
  })
  await life.bring(place, environment)
  return place
}

const drop = (body: object, by = life.engineer) => by.call('POST', '/api/evolve/drop-column', body)
const rename = (body: object, by = life.engineer) => by.call('POST', '/api/evolve/rename-column', body)
const columns = async (table: string): Promise<string[]> =>
  (await lab.service.get(`/api/table/${table}/schema`)).body.columns.map(({ name }: { name: string }) => name)

describe.each(['uat', 'production'] as const)('a column that a version in %s uses', (environment) => {
  it('is neither dropped nor renamed, nor is it in a preview; the answer lists the versions and nodes', async () => {
    const { table, place } = await tableWithVersion(environment)
    for (const dry of [{}, { dry_run: true }]) {
      for (const answer of [
        await drop({ table, name: 'name', ...dry }),
        await rename({ table, name: 'name', new_name: 'title', ...dry }),
      ]) {
        expect(answer.status, JSON.stringify(answer.body)).toBe(409)
        expect(answer.body.code).toBe('CONFLICT')
        const user = `used by version 1 of users of ${table} (${environment}, ${place.versionId}, node keep)`
        expect(answer.body.errors).toEqual([{ path: 'name', message: user }])
      }
    }
    expect(await columns(table)).toContain('name')
  })

  it('in the sink is also protected; columns that the version does not use can be dropped', async () => {
    const { table, place } = await tableWithVersion(environment)
    const sink = await drop({ table: `${table}_out`, name: 'id' })
    expect(sink.status).toBe(409)
    expect(sink.body.detail).toContain(`${place.versionId}, node out`)
    expect((await drop({ table, name: 'spare' })).status).toBe(200)
    expect((await rename({ table, name: 'unread', new_name: 'read' })).status).toBe(200)
    expect((await drop({ table: `${table}_out`, name: 'unread' })).status).toBe(200)
    expect(await columns(table)).toEqual(['id', 'name', 'read'])
  })
})

describe('force', () => {
  it('requires a lead: 403 for others, also with the plan of a lead', async () => {
    const { table } = await tableWithVersion('uat')
    const refused = await drop({ table, name: 'name', force: true })
    expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
    const plan = await drop({ table, name: 'name', force: true, dry_run: true }, life.lead)
    expect(plan.status, JSON.stringify(plan.body)).toBe(200)
    const { plan_id } = plan.body
    expect((await drop({ table, plan_id })).status).toBe(403)
    expect(await columns(table)).toContain('name')
    expect((await drop({ table, plan_id }, life.lead)).status).toBe(200)
    expect(await columns(table)).not.toContain('name')
  })

  it('renames, too', async () => {
    const { table } = await tableWithVersion('production')
    expect((await rename({ table, name: 'name', new_name: 'title', force: true }, life.lead)).status).toBe(200)
  })

  it('never breaks a live pipeline', async () => {
    const { table, place } = await tableWithVersion('uat')
    const started = await life.lead.call('POST', '/api/pipeline/start', {
      version_id: place.versionId,
      checkpoint_location: `cp/${table}`,
      trigger_interval: '1 hour',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(422) // the sink has no column `note`
    const copy = await life.engineer.call('POST', '/api/pipeline/start', {
      source_table: table,
      sink_table: `${table}_copy`,
      create_sink_table: true,
      checkpoint_location: `cp/${table}`,
      trigger_interval: '1 hour',
    })
    expect(copy.status, JSON.stringify(copy.body)).toBe(200)
    const { id } = copy.body.pipeline
    const answer = await drop({ table, name: 'name', force: true }, life.lead)
    expect(answer.status).toBe(409)
    expect(answer.body.errors).toEqual([{ path: 'name', message: `used by pipeline ${id}` }])
    await life.engineer.call('POST', `/api/pipeline/${id}/stop`, {})
    expect((await drop({ table, name: 'name', force: true }, life.lead)).status).toBe(200)
  })
})

describe('versions in other environments', () => {
  it.each(['qa', 'retired'] as const)('in %s do not protect columns', async (environment) => {
    const { table } = await tableWithVersion(environment)
    expect((await drop({ table, name: 'name' })).status).toBe(200)
  })

  it('are listed up to a limit, and counted', async () => {
    const { table } = await tableWithVersion('uat')
    for (let at = 0; at < 21; at += 1) await versionIn(table, 'uat')
    const { body } = await drop({ table, name: 'name' })
    expect(body.errors).toHaveLength(20)
    expect(body.detail).toContain(' and 2 more; retire the versions first')
  })
})

describe('a plan', () => {
  it('is applied by its id alone, once, and by no other request', async () => {
    const table = `s.t${(made += 1)}`
    await lab.createTable(table, COLUMNS)
    const calls = [
      ['/api/evolve/add-column', { name: 'extra', type: 'int' }],
      ['/api/evolve/rename-column', { name: 'extra', new_name: 'more' }],
      ['/api/evolve/drop-column', { name: 'more' }],
    ] as const
    for (const [path, body] of calls) {
      const { plan_id } = (await life.engineer.call('POST', path, { table, ...body, dry_run: true })).body
      const other = await life.engineer.call('POST', path, { table, plan_id, name: 'another' })
      expect([other.status, other.body.errors]).toEqual([400, [{ path: 'name', message: 'differs from the plan' }]])
      const applied = await life.engineer.call('POST', path, { table, plan_id })
      expect(applied.status, JSON.stringify(applied.body)).toBe(200)
      expect((await life.engineer.call('POST', path, { table, plan_id })).body.code).toBe('PLAN_STALE')
    }
    expect(await columns(table)).toEqual(COLUMNS.map(([name]) => name))
  })

  it('of a rollback, too', async () => {
    const table = `s.t${(made += 1)}`
    await lab.createTable(table, [['id', 'long']])
    await lab.append(table, 'SELECT 1::BIGINT AS c1')
    const first = (await lab.load(table)).metadata.currentSnapshotId?.toString()
    await lab.append(table, 'SELECT 2::BIGINT AS c1')
    const preview = await lab.service.post('/api/rollback', { table, snapshot_id: first, dry_run: true })
    const { status } = await lab.service.post('/api/rollback', { table, plan_id: preview.body.plan_id })
    expect([status, (await lab.load(table)).metadata.currentSnapshotId?.toString()]).toEqual([200, first])
  })

  it('can be omitted only if all required fields are given', async () => {
    for (const [path, needed] of [
      ['/api/evolve/add-column', ['name', 'type']],
      ['/api/evolve/rename-column', ['name', 'new_name']],
      ['/api/evolve/drop-column', ['name']],
    ] as const) {
      const { status, body } = await life.engineer.call('POST', path, { table: 's.t1' })
      expect([status, body.errors.map((error: { path: string }) => error.path)]).toEqual([400, needed])
    }
  })
})
