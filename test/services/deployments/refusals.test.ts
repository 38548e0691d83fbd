import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { runRollback } from '../../../src/maintenance/rollback.ts'
import type { Place } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab } from './deploy-lab.ts'
import { LONG } from '../../support/effort.ts'

let lab: DeployLab
beforeAll(async () => {
  lab = await openDeployLab()
  for (const name of ['kept', 'used']) await lab.tables(name)
  await lab.lab.createTable('s.odd_out', [
    ['id', 'boolean'],
    ['other', 'string'],
  ])
})
afterAll(() => lab.close())

async function configure(body: object): Promise<void> {
  const answer = await lab.lab.service.call('PUT', '/api/environments/development', { body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

/** What must be as before: the pipeline with its run, the deployment and its history. */
async function stateOf(place: Place, environment: 'development' | 'production' = 'development') {
  const { newest_version_id: _, state: __, reason: ___, ...deployment } = await lab.deploymentOf(place, environment)
  const { id, run_id, state, desired_state, version_id } = await lab.pipeline(deployment.pipeline_id)
  const { body: history } = await lab.lab.service.get(`${place.definition}/deployments`)
  return { deployment, pipeline: { id, run_id, state, desired_state, version_id }, history }
}

async function deployed(name: string): Promise<Place> {
  const place = await lab.define(name)
  const { status, body } = await lab.deploy(place)
  expect(status, JSON.stringify(body)).toBe(200)
  await lab.untilState(place, 'in_sync')
  return place
}

interface Refusal {
  readonly what: string
  readonly graph: () => object
  readonly status: number
  readonly path: string
  readonly message: RegExp
}

const REFUSALS: readonly Refusal[] = [
  {
    what: 'an unknown parameter',
    graph: () => graphOf(['s.kept_in'], 's.kept_out', 'id >= ${nobody}'),
    status: 422,
    path: 'nodes.keep.parameters.nobody',
    message: /node keep: .*no parameter nobody/,
  },
  {
    what: 'a missing secret',
    graph: () => graphOf(['s.kept_in'], 's.kept_out', 'name <> ${key}'),
    status: 422,
    path: 'nodes.keep.parameters.key',
    message: /node keep: parameter key: env:LAKE_UNSET is not set/,
  },
  {
    what: 'a parameter that makes no legal name',
    graph: () => graphOf(['${wrong}'], 's.kept_out'),
    status: 422,
    path: 'nodes.in0.parameters.wrong',
    message: /node in0: table: with parameter wrong/,
  },
  {
    what: 'a table that does not exist',
    graph: () => graphOf(['s.${absent}_in'], 's.kept_out'),
    status: 422,
    path: 'nodes.in0',
    message: /node in0: table s\.nowhere_in does not exist/,
  },
  {
    what: 'a sink that does not exist',
    graph: () => graphOf(['s.kept_in'], 's.${absent}_out'),
    status: 422,
    path: 'nodes.out',
    message: /node out: table s\.nowhere_out does not exist/,
  },
  {
    what: 'a sink with other columns',
    graph: () => graphOf(['s.kept_in'], 's.odd_out'),
    status: 422,
    path: 'nodes.out',
    message: /node out: column id is long, in the sink boolean/,
  },
  {
    what: 'a sink that the environment may not write',
    graph: () => graphOf(['s.kept_in'], 's.used_in'),
    status: 422,
    path: 'nodes.out',
    message: /node out: development may write only/,
  },
  {
    what: 'a sink that another pipeline uses',
    graph: () => graphOf(['s.kept_in'], 's.used_out'),
    status: 409,
    path: 'nodes.out',
    message: /node out: pipeline pipe-\S+ is using the sink s\.used_out/,
  },
]

describe('a deployment that cannot run', { ...LONG, timeout: 180_000 }, () => {
  let place: Place
  let rows = 10
  beforeAll(async () => {
    await configure({
      parameters: { key: 'env:LAKE_UNSET', absent: 'nowhere', wrong: '' },
      writes: ['s.*_out'],
    })
    await deployed('used')
    place = await deployed('kept')
  })

  it.each(REFUSALS)('because of $what is refused before what runs is touched', async (refusal) => {
    await lab.users.addVersion(place.definitionId, refusal.graph())
    const before = await stateOf(place)
    const { body: preview } = await lab.deploy(place, 'development', { dry_run: true })
    expect(preview).not.toHaveProperty('plan_id')
    const { status, body } = await lab.deploy(place)
    expect({ status, path: body.errors?.[0]?.path }, JSON.stringify(body)).toEqual({
      status: refusal.status,
      path: refusal.path,
    })
    expect(body.detail).toMatch(refusal.message)
    expect(await stateOf(place)).toEqual(before)
    expect(before.pipeline).toMatchObject({ state: 'running', version_id: place.versionId })
    await lab.append('kept', rows, (rows += 5))
    await lab.untilCopied('kept', rows)
    expect((await stateOf(place)).pipeline).toEqual(before.pipeline)
  })
})

describe('a deployment after a source was rolled back', { ...LONG, timeout: 180_000 }, () => {
  it('is refused with other sources and with the same, because its unread history is lost', async () => {
    await configure({ parameters: {}, writes: ['*'], defaults: { trigger_interval: '1 hour' } })
    for (const name of ['lost', 'more']) await lab.tables(name)
    await lab.append('lost', 10, 20)
    const place = await deployed('lost')
    await lab.untilCopied('lost', 20)
    const { metadata } = await lab.lab.load('s.lost_in')
    const [first] = metadata.snapshots
    await runRollback({
      catalog: lab.lab.catalog(),
      identifier: parseIdentifier('s.lost_in'),
      snapshotId: first?.snapshotId ?? 0n,
    })
    await lab.users.addVersion(place.definitionId, graphOf(['s.more_in', 's.lost_in'], 's.lost_out'))
    const before = await stateOf(place)
    const { status, body } = await lab.deploy(place)
    expect({ status, path: body.errors?.[0]?.path }, JSON.stringify(body)).toEqual({ status: 422, path: 'nodes.in1' })
    expect(body.detail).toMatch(/node in1 cannot resume after snapshot \d+ of s\.lost_in.*rolled back/)
    expect(await stateOf(place)).toEqual(before)
    expect(before.pipeline).toMatchObject({ state: 'running', version_id: place.versionId })
    await lab.users.addVersion(place.definitionId, graphOf(['s.lost_in'], 's.lost_out', 'id > -1'))
    const same = await lab.deploy(place)
    expect({ status: same.status, path: same.body.errors?.[0]?.path }, JSON.stringify(same.body)).toEqual({
      status: 422,
      path: 'nodes.in0',
    })
    expect(await stateOf(place)).toEqual(before)
    expect(await lab.idsIn('s.lost_out')).toHaveLength(20)
  })
})

describe('a retired version', { ...LONG, timeout: 180_000 }, () => {
  it('is not rolled back to, and the version that runs keeps running', async () => {
    await lab.tables('aged')
    const one = await lab.define('aged')
    await lab.users.bring(one, 'production')
    await lab.deploy(one, 'production')
    await lab.untilState(one, 'in_sync', 'production')
    const two = await lab.users.addVersion(one.definitionId, graphOf(['s.aged_in'], 's.aged_out', 'id > -1'))
    await lab.users.bring(two, 'production')
    await lab.deploy(one, 'production')
    await until(async () => (await lab.deploymentOf(one, 'production')).running_version_id === two.versionId)
    await lab.untilState(one, 'in_sync', 'production')
    const before = await stateOf(one, 'production')
    expect((await lab.users.lead.call('POST', `${one.version}/retire`)).status).toBe(200)
    const { status, body } = await lab.change('rollback', one, 'production')
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'CONFLICT' })
    expect(body.detail).toBe('version 1 is in retired, so it cannot run in production')
    expect(await stateOf(one, 'production')).toEqual(before)
    await lab.append('aged', 10, 15)
    await lab.untilCopied('aged', 15)
    expect((await stateOf(one, 'production')).pipeline).toEqual(before.pipeline)
  })
})
