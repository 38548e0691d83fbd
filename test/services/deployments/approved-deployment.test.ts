import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Place } from '../../support/lifecycle.ts'
import { type DeployLab, openDeployLab } from './deploy-lab.ts'
import { LONG } from '../../support/effort.ts'

let lab: DeployLab
let place: Place
beforeAll(async () => {
  lab = await openDeployLab({ env: { LAKE_LIMIT: 'secret-999' } })
  for (const table of ['dev', 'uat', 'production']) await lab.tables(table)
  await configure('development', { parameters: { schema: 's', stage: 'dev', floor: 0, key: 'env:LAKE_LIMIT' } })
  await configure('uat', { parameters: { schema: 's', stage: 'uat', floor: 3, key: 'env:LAKE_LIMIT' } })
  await configure('production', { parameters: { schema: 's', stage: 'production', floor: 5, key: 'env:LAKE_LIMIT' } })
  place = await lab.users.create('outlook', graph('id, name'))
})
afterAll(() => lab.close())

async function configure(environment: string, body: object): Promise<void> {
  const answer = await lab.lab.service.call('PUT', `/api/environments/${environment}`, { body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

function graph(columns: string, sink = '${schema}.${stage}_out') {
  const select = `SELECT ${columns} FROM input WHERE id >= \${floor} AND name <> \${key}`
  return {
    nodes: [
      { id: 'in', type: 'iceberg-source', config: { table: '${schema}.${stage}_in' } },
      { id: 'sql', type: 'sql', config: { query: select } },
      { id: 'out', type: 'iceberg-sink', config: { table: sink } },
    ],
    edges: [
      { id: 'a', source: 'in', target: 'sql' },
      { id: 'b', source: 'sql', target: 'out' },
    ],
  }
}

/** Brings a new version to uat and asks for production; the request's id. */
async function requestProduction(given: Place): Promise<string> {
  await lab.users.bring(given, 'uat')
  return lab.users.request(given)
}

const detail = async (id: string) => {
  const { status, body } = await lab.users.lead.call('GET', `/api/approvals/${id}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

describe('what an approval would deploy', () => {
  it('is the version with the parameters of the target, where nothing runs yet', async () => {
    const id = await requestProduction(place)
    const { deploys, deploys_unavailable: unavailable } = await detail(id)
    expect(unavailable).toBe(null)
    expect(deploys).toMatchObject({
      environment: 'production',
      deploy: 'manual',
      diff: null,
      plan: {
        action: 'deploy',
        runs: null,
        would_run: { version_id: place.versionId, sink_table: 's.production_out', checkpoint: 'new' },
        problems: [],
      },
      validation: { runnable: true, problems: [], sink_table: 's.production_out', source_tables: ['s.production_in'] },
      sink: {
        table: 's.production_out',
        exists: true,
        columns: [
          { name: 'id', type: 'long', in_sink: true, written_now: false, would_write: true },
          { name: 'name', type: 'string', in_sink: true, written_now: false, would_write: true },
        ],
      },
    })
    const sql = deploys.graph.nodes.find((node: { id: string }) => node.id === 'sql').config.query
    expect(sql).toContain('(5)')
    expect(sql).toContain('env:LAKE_LIMIT')
    expect(JSON.stringify(deploys)).not.toContain('secret-999')
    expect((await lab.users.lead.call('POST', `/api/approvals/${id}/approve`, {})).status).toBe(200)
    expect(await detail(id)).toMatchObject({ deploys: null, deploys_unavailable: null })
  })

  it('is compared with the version that runs there, not with the newest one there', LONG, async () => {
    await lab.deploy(place, 'production')
    await lab.untilState(place, 'in_sync', 'production')
    const second = await lab.users.addVersion(place.definitionId, graph('id, upper(name) AS name'))
    await lab.users.bring(second, 'production')
    const third = await lab.users.addVersion(place.definitionId, graph('id'))
    const id = await requestProduction(third)
    const { deploys, diff } = await detail(id)
    expect(diff.from.id).toBe(second.versionId)
    expect(deploys.diff.from.id).toBe(place.versionId)
    const rehearsed = await lab.users.lead.call('POST', `/api/approvals/${id}/rehearse`, { batches: 1 })
    expect(rehearsed.status, JSON.stringify(rehearsed.body)).toBe(200)
    expect(rehearsed.body.base).toMatchObject({ version_id: place.versionId, is_running: true, rows: 5, problem: null })
    expect(deploys.plan.runs).toMatchObject({ version_id: place.versionId, state: 'running' })
    expect(deploys.plan.would_run).toMatchObject({ version_id: third.versionId, checkpoint: 'same' })
    expect(deploys.sink.columns).toEqual([
      { name: 'id', type: 'long', in_sink: true, written_now: true, would_write: true },
      { name: 'name', type: 'string', in_sink: true, written_now: true, would_write: false },
    ])
  })

  it('names what keeps the version from running in the target', async () => {
    const bad = await lab.users.addVersion(place.definitionId, graph('id, 1 AS extra'))
    const { deploys } = await detail(await requestProduction(bad))
    expect(deploys.validation).toMatchObject({
      runnable: false,
      problems: [expect.objectContaining({ node_id: 'out', code: 'COLUMN_MISMATCH' })],
    })
    expect(deploys.plan).toMatchObject({ would_run: null, problems: [expect.objectContaining({ node_id: 'out' })] })
    expect(deploys.sink.columns).toContainEqual({
      name: 'extra',
      type: 'int',
      in_sink: false,
      written_now: false,
      would_write: true,
    })
  })

  it('is read again by a client that knows the answer from before a missing sink was created', async () => {
    const missing = await lab.users.create('late sink', graph('id, name', 's.late_out'))
    const id = await requestProduction(missing)
    const read = (tag = '') => lab.users.lead.call('GET', `/api/approvals/${id}`, undefined, { 'If-None-Match': tag })
    const before = await read()
    expect(before.body.deploys.plan.problems).toMatchObject([{ code: 'NO_SUCH_TABLE' }])
    const tag = before.headers.get('etag') ?? ''
    expect((await read(tag)).status).toBe(304)
    const made = await lab.users.lead.call('POST', `${missing.version}/sink-table?environment=production`, {})
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const after = await read(tag)
    expect(after.status).toBe(200)
    expect(after.body.deploys.plan.problems).toEqual([])
    const approve = await lab.users.lead.call('POST', `/api/approvals/${id}/approve`, {}, { 'If-Match': tag })
    expect(approve.status, JSON.stringify(approve.body)).toBe(200)
  })

  it('starts nothing and moves nothing', async () => {
    const before = await lab.deploymentOf(place, 'production')
    const history = await lab.lab.service.get(`${place.definition}/deployments`)
    const next = await lab.users.addVersion(place.definitionId, graph('id, name || name AS name'))
    const id = await requestProduction(next)
    for (let at = 0; at < 5; at += 1) await detail(id)
    const { newest_version_id: _, ...same } = await lab.deploymentOf(place, 'production')
    expect(before).toMatchObject(same)
    expect((await lab.lab.service.get(`${place.definition}/deployments`)).body).toEqual(history.body)
    expect((await lab.users.engineer.call('GET', `/api/approvals/${id}`)).status).toBe(403)
  })
})
