import { Kysely } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Environment, RunEnvironment } from '../../../src/domain/environments.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { createDeploymentStore } from '../../../src/storage/stores/deployments/deployment-store.ts'
import { FAST } from '../../streaming/support.ts'
import { LONG } from '../../support/effort.ts'
import type { Place } from '../../support/lifecycle.ts'
import { openStateFile } from '../../support/state/state-file.ts'
import { sleep, until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab, QUICK } from './deploy-lab.ts'

const DAY_MS = 86_400_000
const EVERY_DAY = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
/** Denies yesterday to tomorrow. */
const FREEZE = {
  kind: 'deny',
  timezone: 'UTC',
  days: EVERY_DAY,
  from: '00:00',
  to: '00:00',
  dates: [`${dateOf(Date.now() - DAY_MS)}/${dateOf(Date.now() + DAY_MS)}`],
}
const OPENING = `${dateOf(Date.now() + 2 * DAY_MS)}T00:00:00.000Z`

let lab: DeployLab
let laterMs = 0
beforeAll(async () => {
  const now = () => new Date(Date.now() + laterMs)
  lab = await openDeployLab({ overrides: { now, streaming: FAST, deployments: { ...QUICK, guardTickMs: 50 } } })
})
afterAll(() => lab.close())
afterEach(async () => {
  laterMs = 0
  for (const environment of ['development', 'qa', 'uat']) await rules(environment, { windows: [], rollback_if: null })
})

async function rules(environment: string, body: object): Promise<void> {
  const answer = await lab.lab.service.call('PUT', `/api/environments/${environment}`, { body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

/** A definition whose version runs in development, after all rows were copied. */
async function deployed(name: string): Promise<Place> {
  await lab.tables(name)
  const place = await lab.define(name)
  await lab.deploy(place)
  await lab.untilState(place, 'in_sync')
  await lab.untilCopied(name, 10)
  return place
}

/** A definition whose version runs in uat. */
async function inUat(name: string): Promise<Place> {
  await lab.tables(name)
  const place = await lab.define(name)
  await lab.users.bring(place, 'uat')
  await lab.deploy(place, 'uat')
  await lab.untilState(place, 'in_sync', 'uat')
  return place
}

const another = (place: Place, name: string, where: string): Promise<Place> =>
  lab.users.addVersion(place.definitionId, graphOf([`s.${name}_in`], `s.${name}_out`, where))

const override = (place: Place, more: object = {}, by = lab.users.lead) =>
  by.call('POST', `${place.definition}/override-window`, {
    environment: 'development',
    reason: 'fixes wrong invoices',
    ...more,
  })

/** Whether a version that arrived comes after the rollout in progress; no answer of the service says so. */
async function isQueued({ definitionId }: Place, environment: RunEnvironment): Promise<boolean> {
  const file = openStateFile(`${lab.lab.service.folder}/home/state.db`)
  const db = new Kysely<StateTables>({ dialect: file })
  const record = await createDeploymentStore(db).find({ definitionId, environment })
  await db.destroy()
  return record?.rollout?.queued === 'deploy'
}

async function history(place: Place) {
  return (await lab.lab.service.get(`${place.definition}/deployments`)).body
}

async function eventsOf(place: Place, environment: Environment = 'development'): Promise<string[]> {
  const { events } = (await lab.lab.service.get('/api/events?type=deployment.*&limit=1000')).body
  const id = `${place.definitionId}/${environment}`
  return events
    .filter(({ object_id: object }: { object_id: string }) => object === id)
    .map(({ type }: { type: string }) => type)
}

describe('a deployment outside of the windows', { timeout: 120_000 }, () => {
  it('waits while the version before runs, and begins once when the window opens during a restart', async () => {
    const one = await deployed('waits')
    const two = await another(one, 'waits', 'id > -1')
    await rules('development', { windows: [FREEZE] })
    const held = (await lab.deploy(one)).body
    expect(held).toMatchObject({ state: 'waiting_for_window', running_version_id: one.versionId })
    expect(held.rollout).toMatchObject({ phase: 'waiting_for_window', opens_at: OPENING, override: null })
    await lab.append('waits', 10, 20)
    await lab.untilCopied('waits', 20)
    expect((await lab.deploy(one)).status).toBe(409)
    await lab.lab.service.restart()
    expect((await lab.deploymentOf(one)).state).toBe('waiting_for_window')
    laterMs = 3 * DAY_MS
    expect(await lab.untilState(one, 'in_sync')).toMatchObject({ running_version_id: two.versionId })
    await lab.append('waits', 20, 30)
    await lab.untilCopied('waits', 30)
    const events = await eventsOf(one)
    expect(events.slice(2)).toEqual(['deployment.held', 'deployment.started', 'deployment.finished'])
  })

  it('begins at once when a lead overrides the window, with the reason in history and audit log', async () => {
    const one = await deployed('overridden')
    const two = await another(one, 'overridden', 'id > -1')
    await rules('development', { windows: [FREEZE] })
    expect((await override(one)).body).toMatchObject({ status: 409, code: 'CONFLICT' })
    const { rollout } = (await lab.deploy(one)).body
    expect((await override(one, {}, lab.users.engineer)).status).toBe(403)
    expect((await override(one, { rollout_id: 'dep-other' })).status).toBe(409)
    const both = await Promise.all([override(one, { rollout_id: rollout.id }), override(one, {}, lab.users.otherLead)])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    expect(await lab.untilState(one, 'in_sync')).toMatchObject({ running_version_id: two.versionId })
    const by = both[0]?.status === 200 ? 'lea' : 'leo'
    const [entry] = await history(one)
    expect(entry).toMatchObject({
      id: rollout.id,
      outcome: 'succeeded',
      override: { by, reason: 'fixes wrong invoices' },
    })
    const audit = await lab.users.lead.call('GET', '/api/audit?action=deployment.override_window')
    expect(audit.body[0]).toMatchObject({ actor: by, details: { override_reason: 'fixes wrong invoices' } })
  })

  it('can be cancelled, and leaves the deployment as it was', async () => {
    const one = await deployed('cancelled')
    const before = await lab.deploymentOf(one)
    await another(one, 'cancelled', 'id > -1')
    await rules('development', { windows: [FREEZE] })
    const { rollout } = (await lab.deploy(one)).body
    const { status, body } = await lab.change('rollback', one, 'development', { rollout_id: rollout.id })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ state: 'out_of_date', rollout: null, desired_version_id: before.desired_version_id })
    const [entry] = await history(one)
    expect(entry).toMatchObject({ id: rollout.id, outcome: 'cancelled' })
    await rules('development', { windows: [] })
    await sleep(300)
    expect((await lab.deploymentOf(one)).running_version_id).toBe(one.versionId)
  })

  it('waits also when a rollback brings the newer version back', LONG, async () => {
    const one = await deployed('returns')
    const two = await another(one, 'returns', 'id > -1')
    await lab.deploy(one)
    await lab.untilState(one, 'in_sync')
    await rules('development', { windows: [FREEZE] })
    expect((await lab.change('rollback', one)).status).toBe(200)
    expect(await lab.untilState(one, 'rolled_back')).toMatchObject({ running_version_id: one.versionId })
    expect((await lab.change('rollback', one)).body).toMatchObject({ state: 'waiting_for_window' })
    await rules('development', { windows: [] })
    await until(async () => (await lab.deploymentOf(one)).running_version_id === two.versionId)
  })

  it('gives way to an undeployment, and its pipeline can be stopped while it waits', LONG, async () => {
    const one = await deployed('stops')
    await another(one, 'stops', 'id > -1')
    await rules('development', { windows: [FREEZE] })
    const { pipeline_id: pipeline } = (await lab.deploy(one)).body
    expect((await lab.lab.service.post(`/api/pipeline/${pipeline}/stop`, {})).status).toBe(200)
    expect((await lab.change('undeploy', one)).status).toBe(200)
    await lab.untilState(one, 'none')
    const outcomes = (await history(one)).map(({ outcome }: { outcome: string }) => outcome)
    expect(outcomes).toEqual(['succeeded', 'cancelled', 'succeeded'])
  })

  it('of a version that is retired while it waits leaves the version that runs', LONG, async () => {
    await lab.tables('retires')
    const one = await lab.define('retires')
    await lab.users.bring(one, 'production')
    await lab.deploy(one, 'production')
    await lab.untilState(one, 'in_sync', 'production')
    const two = await another(one, 'retires', 'id > -1')
    await lab.users.bring(two, 'production')
    await rules('production', { windows: [FREEZE] })
    await lab.deploy(two, 'production')
    await lab.untilState(one, 'waiting_for_window', 'production')
    expect((await lab.users.lead.call('POST', `${two.version}/retire`)).status).toBe(200)
    await sleep(500)
    expect(await lab.deploymentOf(one, 'production')).toMatchObject({ running_version_id: one.versionId })
    await rules('production', { windows: [] })
  })

  it('that is cancelled gives way to the version that arrived after it', LONG, async () => {
    const one = await inUat('queued')
    await lab.users.bring(await another(one, 'queued', 'id > -1'), 'uat')
    await rules('uat', { windows: [FREEZE], deploy: 'on_arrival' })
    const { rollout } = (await lab.deploy(one, 'uat')).body
    const three = await another(one, 'queued', 'id > -2')
    await lab.users.bring(three, 'qa')
    const request = `/api/approvals/${await lab.users.request(three)}`
    expect((await lab.users.lead.call('POST', `${request}/approve`, {})).status).toBe(200)
    const reason = { reason: 'needed now' }
    expect((await lab.users.lead.call('POST', `${request}/override-window`, reason)).status).toBe(200)
    await until(() => isQueued(one, 'uat'))
    await lab.change('rollback', one, 'uat', { rollout_id: rollout.id })
    const next = (await lab.deploymentOf(one, 'uat')).rollout
    expect(next).toMatchObject({ phase: 'waiting_for_window' })
    expect(next.id).not.toBe(rollout.id)
    await rules('uat', { windows: [], deploy: 'manual' })
    await until(async () => (await lab.deploymentOf(one, 'uat')).running_version_id === three.versionId)
  })

  it('on arrival waits too, but a version that is demoted is replaced at once', LONG, async () => {
    const one = await inUat('arrives')
    const two = await another(one, 'arrives', 'id > -1')
    await lab.users.bring(two, 'uat')
    await lab.deploy(one, 'uat')
    expect(await lab.untilState(one, 'in_sync', 'uat')).toMatchObject({ running_version_id: two.versionId })
    await rules('uat', { windows: [FREEZE], deploy: 'on_arrival' })
    expect((await lab.users.lead.call('POST', `${two.version}/demote`)).status).toBe(200)
    await until(async () => (await lab.deploymentOf(one, 'uat')).running_version_id === one.versionId)
    await lab.untilState(one, 'in_sync', 'uat')
    await rules('uat', { windows: [FREEZE], deploy: 'manual' })
  })
})

/** Fails on the rows that are appended later. */
const FAILS_LATER = "CASE WHEN id >= 10 THEN error('bad row') IS NULL ELSE true END"

describe('rollback_if', { timeout: 120_000 }, () => {
  it('rolls back a deployment once whose batches fail, and no rollback', async () => {
    const one = await deployed('guarded')
    await rules('development', { rollback_if: { failed_batches: 2, within: '1 hour' } })
    const two = await another(one, 'guarded', FAILS_LATER)
    await lab.deploy(one)
    const guarded = await lab.untilState(one, 'in_sync')
    expect(guarded).toMatchObject({ running_version_id: two.versionId, guarded_until: expect.any(String) })
    await lab.append('guarded', 10, 20)
    const back = await lab.untilState(one, 'rolled_back')
    expect(back).toMatchObject({ running_version_id: one.versionId, guarded_until: null })
    expect(back.reason).toMatch(/^rolled back by itself: \d+ batches failed in a row: .*bad row/)
    await lab.untilCopied('guarded', 20)
    const [entry] = await history(one)
    expect(entry).toMatchObject({ action: 'rollback', outcome: 'succeeded', started_by: 'rollback_if' })
    await sleep(300)
    const rollbacks = (await history(one)).filter(({ action }: { action: string }) => action === 'rollback')
    expect(rollbacks).toHaveLength(1)
    expect((await eventsOf(one)).slice(-2)).toEqual(['deployment.started', 'deployment.rolled_back'])
    const audit = await lab.users.lead.call('GET', '/api/audit?action=deployment.rollback')
    expect(audit.body[0]).toMatchObject({ actor: null, channel: 'system' })
  })

  it('replaces a rollout that waits for a window', LONG, async () => {
    const one = await deployed('harmful')
    await rules('development', { rollback_if: { failed_batches: 2, within: '1 hour' } })
    await another(one, 'harmful', FAILS_LATER)
    await lab.deploy(one)
    await lab.untilState(one, 'in_sync')
    await another(one, 'harmful', 'id > -3')
    await rules('development', { windows: [FREEZE], rollback_if: { failed_batches: 2, within: '1 hour' } })
    expect((await lab.deploy(one)).body).toMatchObject({ state: 'waiting_for_window' })
    await lab.append('harmful', 10, 20)
    expect(await lab.untilState(one, 'rolled_back')).toMatchObject({ running_version_id: one.versionId, rollout: null })
    const outcomes = (await history(one)).map(({ outcome }: { outcome: string }) => outcome)
    expect(outcomes).toEqual(['succeeded', 'cancelled', 'succeeded', 'succeeded'])
  })

  it('leaves a deployment alone whose pipeline a person has stopped', LONG, async () => {
    const one = await deployed('touched')
    await rules('development', { rollback_if: { failed_batches: 1, within: '1 hour' } })
    const two = await another(one, 'touched', FAILS_LATER)
    await lab.deploy(one)
    const { pipeline_id: pipeline } = await lab.untilState(one, 'in_sync')
    await lab.lab.service.post(`/api/pipeline/${pipeline}/stop`, {})
    expect((await lab.deploymentOf(one)).guarded_until).toBeNull()
    await until(async () => (await lab.pipeline(pipeline)).state === 'stopped')
    await lab.append('touched', 10, 20)
    await sleep(200)
    expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: two.versionId, rollout: null })
    expect((await history(one)).map(({ action }: { action: string }) => action)).toEqual(['deploy', 'deploy'])
  })

  it('does nothing after its time', LONG, async () => {
    const one = await deployed('late')
    await rules('development', { rollback_if: { failed_batches: 1, within: '1 hour' } })
    await another(one, 'late', FAILS_LATER)
    await lab.deploy(one)
    const { pipeline_id: pipeline } = await lab.untilState(one, 'in_sync')
    laterMs = 2 * 3_600_000
    expect((await lab.deploymentOf(one)).guarded_until).toBeNull()
    await lab.append('late', 10, 20)
    await until(async () => (await lab.pipeline(pipeline)).state === 'degraded')
    await sleep(300)
    expect((await history(one)).map(({ action }: { action: string }) => action)).toEqual(['deploy', 'deploy'])
  })
})
