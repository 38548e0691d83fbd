import { Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SqlCatalogTables } from '../../../src/catalog/sql/tables.ts'
import type { Environment } from '../../../src/domain/environments.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'
import { type Actor, type Lifecycle, lifecycle, type Place } from '../../support/lifecycle.ts'
import { callTool } from '../../support/mcp-call.ts'
import { ADMIN_TOKEN, type Answer } from '../../support/service.ts'
import { openStateFile } from '../../support/state/state-file.ts'

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const
const ENVIRONMENTS = ['development', 'qa', 'uat', 'production', 'retired'] as const

let lab: StreamLab
let life: Lifecycle
let made = 0
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
  for (const namespace of ['development', 'qa', 'uat', 'production']) {
    await lab.catalog().createNamespace([namespace])
    await lab.createTable(`${namespace}.orders`, COLUMNS)
    await set(namespace, { parameters: { schema: namespace }, writes: [`${namespace}.*`] })
  }
})
afterAll(() => lab.close())

const set = async (environment: string, body: object): Promise<void> => {
  const { status } = await lab.service.call('PUT', `/api/environments/${environment}`, { body })
  expect(status).toBe(200)
}

/** A version of `${schema}.orders → ${schema}.<table>` in an environment. */
async function versionIn(environment: Environment, sink = '${schema}.copy_${n}'): Promise<Place> {
  made += 1
  const place = await life.create(`matrix ${made}`, {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: '${schema}.orders' } },
      { id: 'out', type: 'iceberg-sink', config: { table: sink.replace('${n}', `${made}`) } },
    ],
    edges: [{ id: 'e', source: 'in', target: 'out' }],
  })
  await life.bring(place, environment)
  return place
}

const request = (versionId: string) => ({
  version_id: versionId,
  checkpoint_location: `cp/matrix-${(made += 1)}`,
  trigger_interval: '1 hour',
})

const start = (by: Actor, versionId: string) => by.call('POST', '/api/pipeline/start', request(versionId))

const startCopy = (by: Actor, table: string, more: object = {}) =>
  by.call('POST', '/api/pipeline/start', {
    source_table: 'development.orders',
    sink_table: table,
    checkpoint_location: `cp/matrix-${(made += 1)}`,
    trigger_interval: '1 hour',
    ...more,
  })

const ACTIONS: Readonly<Record<string, (by: Actor, at: Environment) => Promise<Answer>>> = {
  list: (by) => by.call('GET', '/api/environments'),
  read: (by, at) => by.call('GET', `/api/environments/${at}`),
  change: (by, at) => by.call('PUT', `/api/environments/${at}`, { deploy: 'manual' }),
  validate: async (by, at) => by.call('POST', `${(await versionIn(at)).version}/validate`, {}),
  'create sink': async (by, at) => by.call('POST', `${(await versionIn(at)).version}/sink-table`, {}),
  start: async (by, at) => {
    const place = await versionIn(at)
    await life.lead.call('POST', `${place.version}/sink-table`, {})
    return start(by, place.versionId)
  },
  'write a listed table without a version': (by, at) => startCopy(by, `${at}.free_${(made += 1)}`, CREATE),
}
const CREATE = { create_sink_table: true }

/** Status of each action for Auditor, DataEngineer and LeadDataEngineer, by environment in the order of {@link ENVIRONMENTS}. */
const EXPECTED: Readonly<Record<string, readonly (readonly [number, number, number])[]>> = {
  list: [
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
  ],
  read: [
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [400, 400, 400],
  ],
  change: [
    [403, 403, 200],
    [403, 403, 200],
    [403, 403, 200],
    [403, 403, 200],
    [403, 403, 400],
  ],
  validate: [
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
    [200, 200, 200],
  ],
  'create sink': [
    [403, 201, 201],
    [403, 201, 201],
    [403, 403, 201],
    [403, 403, 201],
    [403, 403, 201],
  ],
  start: [
    [403, 200, 200],
    [403, 200, 200],
    [403, 403, 200],
    [403, 403, 200],
    [403, 409, 409],
  ],
  'write a listed table without a version': [
    [403, 200, 200],
    [403, 200, 200],
    [403, 403, 403],
    [403, 403, 403],
    [403, 200, 200],
  ],
}

describe('each role in each environment', () => {
  it.each(Object.entries(ACTIONS))('may %s as the table says', async (name, act) => {
    const seen: (readonly number[])[] = []
    for (const environment of ENVIRONMENTS) {
      const answers: number[] = []
      for (const by of [life.auditor, life.engineer, life.lead]) answers.push((await act(by, environment)).status)
      seen.push(answers)
    }
    expect(seen).toEqual(EXPECTED[name])
  })
})

describe('a pipeline of a version', () => {
  it('shows its environment, and records it', async () => {
    const place = await versionIn('qa')
    await life.engineer.call('POST', `${place.version}/sink-table`, {})
    const { body } = await start(life.engineer, place.versionId)
    expect(body.pipeline).toMatchObject({ environment: 'qa', version_id: place.versionId, source_table: 'qa.orders' })
    const copy = await startCopy(life.engineer, 'qa.plain', CREATE)
    expect(copy.body.pipeline.environment).toBeNull()
    const { body: entries } = await lab.service.get(`/api/audit?object=${body.pipeline.id}`)
    expect(entries[0].details).toMatchObject({ environment: 'qa', version_id: place.versionId })
  })

  it('writes only what its environment allows; the answer names environment and rule', async () => {
    const place = await versionIn('qa', 'uat.orders')
    const { status, body } = await start(life.lead, place.versionId)
    expect(status).toBe(403)
    expect(body).toMatchObject({
      code: 'FORBIDDEN',
      errors: [{ path: 'sink_table', message: 'qa may write only tables that match qa.*, not uat.orders' }],
    })
    const missing = await versionIn('qa', 'uat.missing')
    const made = await life.lead.call('POST', `${missing.version}/sink-table`, {})
    expect({ status: made.status, path: made.body.errors?.[0]?.path }).toEqual({ status: 403, path: 'sink_table' })
    await expect(lab.load('uat.missing')).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' })
  })
})

describe('a sink that the environment may not write', () => {
  const problem = {
    node_id: 'out',
    code: 'SINK_NOT_ALLOWED',
    message: 'qa may write only tables that match qa.*, not uat.orders',
    severity: 'error',
  }

  it('is a problem of its node when a version or a graph is validated for that environment', async () => {
    const place = await versionIn('development', 'uat.orders')
    const elsewhere = await life.auditor.call('POST', `${place.version}/validate?environment=uat`, {})
    const own = await life.auditor.call('POST', `${place.version}/validate?environment=qa`, {})
    expect(own.status).toBe(200)
    expect(elsewhere.status).toBe(200)
    expect(elsewhere.body.problems).not.toContainEqual(expect.objectContaining({ code: problem.code }))
    expect(own.body).toMatchObject({ runnable: false, problems: [problem] })
    const { nodes, edges } = (await life.engineer.call('GET', place.version)).body
    const drafted = await life.engineer.call('POST', '/api/pipeline-defs/validate?environment=qa', { nodes, edges })
    expect(drafted.body, JSON.stringify(drafted.body)).toMatchObject({ runnable: false, problems: [problem] })
  })

  it('is the problem of a deployment with its node, and refused at a start as before', async () => {
    const place = await versionIn('qa', 'uat.orders')
    const { body } = await life.engineer.call('POST', `${place.definition}/deploy`, {
      environment: 'qa',
      dry_run: true,
    })
    expect(body.plan.problems).toEqual([
      { node_id: 'out', parameter: null, code: problem.code, message: problem.message, blocked_by: null },
    ])
    const deployed = await life.engineer.call('POST', `${place.definition}/deploy`, { environment: 'qa' })
    expect({ status: deployed.status, path: deployed.body.errors[0].path }).toEqual({ status: 422, path: 'nodes.out' })
    expect((await start(life.engineer, place.versionId)).body.code).toBe('FORBIDDEN')
  })
})

describe('a table with two names', () => {
  it('is closed under both of them', async () => {
    await lab.createTable('production.ledger', COLUMNS)
    await lab.catalog().createNamespace(['side'])
    await alias('production.ledger', 'side.door')
    await alias('production.ledger', 'qa.door')
    const copy = await startCopy(life.lead, 'side.door')
    expect(copy.status, JSON.stringify(copy.body)).toBe(403)
    expect(copy.body.detail).toContain('side.door, which is also production.ledger')
    const place = await versionIn('qa', 'qa.door')
    const version = await start(life.lead, place.versionId)
    expect(version.status).toBe(403)
    expect(version.body.detail).toContain('qa.door, which is also')
    expect((await startCopy(life.lead, 'PRODUCTION.new', CREATE)).status).toBe(403)
  })

  /** Another name of a table, as another system may add it to the catalog's own tables. */
  async function alias(table: string, name: string): Promise<void> {
    const { metadataLocation } = await lab.load(table)
    const [table_namespace = '', table_name = ''] = name.split('.')
    const db = new Kysely<SqlCatalogTables>({ dialect: openStateFile(`${lab.service.folder}/home/catalog.db`) })
    const row = { catalog_name: 'lockhouse', table_namespace, table_name, metadata_location: metadataLocation }
    const rest = { previous_metadata_location: null, iceberg_type: 'TABLE' }
    await db
      .insertInto('iceberg_tables')
      .values({ ...row, ...rest })
      .execute()
    await db.destroy()
  }
})

describe('tools of the agent and of MCP', () => {
  it('start pipelines under the same rules', async () => {
    const send = (path: string, init: RequestInit) => lab.service.app.request(path, init)
    const { body: token } = await lab.service.post('/api/auth/tokens', { user: 'ed', role: 'DataEngineer', name: 'x' })
    for (const [environment, status] of [
      ['production', 403],
      ['retired', 409],
      ['qa', 200],
    ] as const) {
      const place = await versionIn(environment)
      await life.lead.call('POST', `${place.version}/sink-table`, {})
      const call = { name: 'start_pipeline', arguments: request(place.versionId) }
      const { result } = await callTool(send, token.token, call)
      const { id } = result.data.pending_action
      const done = await lab.service.call('POST', `/api/agent/actions/${id}/confirm`, { body: {}, token: token.token })
      expect(done.status, JSON.stringify(done.body)).toBe(status)
    }
    const { result } = await callTool(send, ADMIN_TOKEN, { name: 'list_environments', arguments: {} })
    expect(result.data.environments.map((view: { environment: string }) => view.environment)).toEqual(
      ENVIRONMENTS.slice(0, 4),
    )
  })
})
