import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunEnvironment, RUN_ENVIRONMENTS } from '../../../src/domain/environments.ts'
import { LONG } from '../../support/effort.ts'
import type { Place } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab } from './deploy-lab.ts'

let lab: DeployLab
beforeAll(async () => {
  lab = await openDeployLab()
})
afterAll(() => lab.close())

async function configure(environment: RunEnvironment, body: object): Promise<void> {
  const { status, body: answer } = await lab.lab.service.call('PUT', `/api/environments/${environment}`, { body })
  expect(status, JSON.stringify(answer)).toBe(200)
}

/** Moves a version one environment further, approved where that is needed. */
async function promote(place: Place): Promise<void> {
  const { status, body } = await lab.users.engineer.call('POST', `${place.version}/promote`)
  if (status === 202) {
    const approved = await lab.users.lead.call('POST', `/api/approvals/${body.id}/approve`, {})
    expect(approved.status, JSON.stringify(approved.body)).toBe(200)
  } else expect(status, JSON.stringify(body)).toBe(200)
}

describe('one version in four environments', { ...LONG, timeout: 300_000 }, () => {
  it('runs four pipelines with four sets of tables, and stops where it is retired', async () => {
    for (const [at, environment] of RUN_ENVIRONMENTS.entries()) {
      await lab.tables(environment, 10 + at)
      await configure(environment, { parameters: { place: environment, first: 0 }, writes: [`s.${environment}_*`] })
    }
    const place = await lab.users.create('all', graphOf(['s.${place}_in'], 's.${place}_out', 'id >= ${first}'))
    const pipelines = new Set<string>()
    for (const [at, environment] of RUN_ENVIRONMENTS.entries()) {
      if (at > 0) await promote(place)
      const { status, body } = await lab.deploy(place, environment)
      expect(status, JSON.stringify(body)).toBe(200)
      const now = await lab.untilState(place, 'in_sync', environment)
      pipelines.add(now.pipeline_id)
      await lab.untilCopied(environment, 10 + at)
      expect(await lab.pipeline(now.pipeline_id)).toMatchObject({ environment, sink_table: `s.${environment}_out` })
    }
    expect(pipelines.size).toBe(4)
    for (const [at, environment] of RUN_ENVIRONMENTS.entries()) await lab.append(environment, 10 + at, 20)
    for (const environment of RUN_ENVIRONMENTS) await lab.untilCopied(environment, 20)
    expect((await lab.users.lead.call('POST', `${place.version}/retire`)).status).toBe(200)
    const stopped = await lab.untilState(place, 'none', 'production')
    expect(stopped).toMatchObject({ running_version_id: null, desired_version_id: null })
    const { body } = await lab.lab.service.get('/api/pipelines')
    const running = body.pipelines.filter(({ state }: { state: string }) => state === 'running')
    expect(running.map(({ environment }: { environment: string }) => environment).sort()).toEqual([
      'development',
      'qa',
      'uat',
    ])
  })
})

/** The version that the newest event of a type names for a definition. */
async function versionInEvent(type: string, { definitionId }: Place): Promise<unknown> {
  const { events } = (await lab.lab.service.get(`/api/events?type=${type}`)).body
  const event = events.find(({ data }: { data: { definition_id: string } }) => data.definition_id === definitionId)
  return event?.data.version_id
}

describe('an environment that deploys on arrival', { timeout: 180_000 }, () => {
  it('runs a version that is promoted there', async () => {
    await configure('qa', { parameters: {}, writes: ['*'], deploy: 'on_arrival' })
    await lab.tables('arrived')
    const place = await lab.define('arrived')
    await lab.users.bring(place, 'qa')
    await until(async () => (await lab.deploymentOf(place, 'qa'))?.state === 'in_sync')
    await lab.untilCopied('arrived', 10)
    expect(await versionInEvent('deployment.started', place)).toBe(place.versionId)
  })

  it.each([
    ['whose tables are missing', 's.nowhere_in', 'id >= 0'],
    ['whose parameter is missing', 's.arrived_in', 'id >= ${nobody}'],
  ])('names the version %s, which cannot run, in the history and the event', async (title, source, where) => {
    await configure('qa', { parameters: {}, writes: ['*'], deploy: 'on_arrival' })
    await lab.tables('arrived2', 0).catch(() => undefined) // both cases write there
    const place = await lab.users.create(title, graphOf([source], 's.arrived2_out', where))
    await lab.users.bring(place, 'qa')
    await lab.untilState(place, 'failed', 'qa')
    const { body: history } = await lab.lab.service.get(`${place.definition}/deployments?environment=qa`)
    expect(history[0], JSON.stringify(history)).toMatchObject({ outcome: 'failed', version_id: place.versionId })
    for (const type of ['deployment.started', 'deployment.failed'])
      expect(await versionInEvent(type, place), type).toBe(place.versionId)
  })
})

describe('what a deployment refuses', () => {
  it('is refused before the running pipeline is touched, with node and parameter', async () => {
    await lab.tables('kept')
    const place = await lab.define('kept')
    await configure('development', { parameters: {}, writes: ['s.kept_*'] })
    await lab.deploy(place)
    const before = await lab.untilState(place, 'in_sync')
    const bad = [
      [graphOf(['s.kept_in'], 's.kept_out', 'id >= ${nobody}'), /nobody/],
      [graphOf(['s.absent_in'], 's.kept_out'), /s\.absent_in/],
      [graphOf(['s.kept_in'], 's.arrived_out'), /development may write only/],
    ] as const
    for (const [graph, message] of bad) {
      await lab.users.addVersion(place.definitionId, graph)
      const answer = await lab.deploy(place)
      expect([answer.status, answer.body.detail], JSON.stringify(answer.body)).toEqual([
        422,
        expect.stringMatching(message),
      ])
      expect(await lab.pipeline(before.pipeline_id)).toMatchObject({
        state: 'running',
        version_id: place.versionId,
      })
    }
  })
})
