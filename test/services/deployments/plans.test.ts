import { FAST } from '../../streaming/support.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import type { Place } from '../../support/lifecycle.ts'
import { LONG } from '../../support/effort.ts'
import type { Answer } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { type DeployLab, graphOf, openDeployLab, QUICK } from './deploy-lab.ts'

for (const kind of stateKindsOfWholeRuns.filter(({ skip }) => !skip)) {
  const tags = kind.name === 'SQLite' ? {} : LONG
  describe(`plans of deployments on ${kind.name}`, tags, () => {
    let lab: DeployLab
    beforeAll(async () => {
      const { env, remove } = await kind.place()
      const overrides = { streaming: FAST, deployments: { ...QUICK, idleMs: 600 } }
      lab = await openDeployLab({ env, onClose: remove, overrides })
    })
    afterAll(() => lab.close())

    /** A definition that is deployed and has copied its rows. */
    async function deployed(name: string): Promise<Place> {
      await lab.tables(name)
      const place = await lab.define(name)
      await lab.deploy(place)
      await lab.untilState(place, 'in_sync')
      await lab.untilCopied(name, 10)
      return place
    }

    /** The next version, which copies the same tables. */
    const nextVersion = (place: Place, name: string, where = 'id > -1'): Promise<Place> =>
      lab.users.addVersion(place.definitionId, graphOf([`s.${name}_in`], `s.${name}_out`, where))

    async function preview(place: Place, action = 'deploy', more: object = {}): Promise<Answer['body']> {
      const { status, body } = await lab.change(action, place, 'development', { dry_run: true, ...more })
      expect(status, JSON.stringify(body)).toBe(200)
      return body
    }

    /** Expects that a plan is refused, and that what ran keeps running. */
    async function expectStale(place: Place, planId: string): Promise<void> {
      const before = await lab.deploymentOf(place)
      const { status, body } = await lab.deploy(place, 'development', { plan_id: planId })
      expect([status, body.code], JSON.stringify(body)).toEqual([409, 'PLAN_STALE'])
      expect(await lab.deploymentOf(place)).toMatchObject({ pipeline_id: before.pipeline_id, rollout: null })
      expect(await lab.pipeline(before.pipeline_id)).toMatchObject({
        state: 'running',
        version_id: before.running_version_id,
      })
    }

    const configure = async (settings: object): Promise<void> => {
      const { status, body } = await lab.lab.service.call('PUT', '/api/environments/development', { body: settings })
      expect(status, JSON.stringify(body)).toBe(200)
    }

    describe('a plan of a deployment', { timeout: 180_000 }, () => {
      it('changes nothing, and is carried out as it was shown', async () => {
        const one = await deployed('planned')
        const two = await nextVersion(one, 'planned')
        const before = await lab.deploymentOf(one)
        const { plan, plan_id: planId } = await preview(one)
        expect(plan).toMatchObject({
          action: 'deploy',
          runs: { version_id: one.versionId, pipeline_id: before.pipeline_id },
          would_run: { version_id: two.versionId, checkpoint: 'same' },
          problems: [],
        })
        expect(await lab.deploymentOf(one)).toEqual(before)
        await lab.append('planned', 10, 12)
        expect((await lab.deploy(one, 'development', { plan_id: planId })).status).toBe(200)
        expect(await lab.untilState(one, 'in_sync')).toMatchObject({ running_version_id: two.versionId })
      })

      it('is refused when a new version has arrived', LONG, async () => {
        const one = await deployed('arrived')
        await nextVersion(one, 'arrived')
        const { plan_id: planId } = await preview(one)
        await nextVersion(one, 'arrived', 'id > -2')
        await expectStale(one, planId)
      })

      it('is refused when the parameters of the environment have changed', async () => {
        const one = await deployed('changed')
        await nextVersion(one, 'changed')
        const { plan_id: planId } = await preview(one)
        await configure({ parameters: { unused: 1 } })
        await expectStale(one, planId)
        await configure({ parameters: {} })
      })

      it('is refused when a table has another schema', LONG, async () => {
        const one = await deployed('widened')
        await nextVersion(one, 'widened')
        const { plan_id: planId } = await preview(one)
        const added = await lab.lab.service.post('/api/evolve/add-column', {
          table: 's.widened_in',
          name: 'more',
          type: 'int',
        })
        expect(added.status, JSON.stringify(added.body)).toBe(200)
        await expectStale(one, planId)
      })

      it('is refused when a table was replaced', LONG, async () => {
        const one = await deployed('replaced')
        await nextVersion(one, 'replaced')
        const { plan_id: planId } = await preview(one)
        await lab.lab.catalog().dropTable(parseIdentifier('s.replaced_in'))
        await lab.lab.createTable('s.replaced_in', [
          ['id', 'long'],
          ['name', 'string'],
        ])
        const { status, body } = await lab.deploy(one, 'development', { plan_id: planId })
        expect([status, body.code], JSON.stringify(body)).toEqual([409, 'PLAN_STALE'])
      })

      it('is refused when another version runs', LONG, async () => {
        const one = await deployed('moved')
        await nextVersion(one, 'moved')
        const { plan_id: planId } = await preview(one)
        await lab.append('moved', 10, 12)
        await lab.deploy(one)
        await lab.untilState(one, 'in_sync')
        await expectStale(one, planId)
      })

      it('is refused for another action, checkpoint, definition or environment', LONG, async () => {
        const one = await deployed('other')
        await nextVersion(one, 'other')
        const { plan_id: planId } = await preview(one)
        const fresh = await lab.deploy(one, 'development', { plan_id: planId, checkpoint: 'fresh' })
        expect([fresh.status, fresh.body.errors[0].path]).toEqual([400, 'plan_id'])
        const undeploy = await lab.change('undeploy', one, 'development', { plan_id: planId })
        expect([undeploy.status, undeploy.body.errors[0].path]).toEqual([400, 'plan_id'])
        const foreign = await deployed('foreign')
        await nextVersion(foreign, 'foreign')
        const answer = await lab.deploy(foreign, 'development', { plan_id: planId })
        expect(answer.status, JSON.stringify(answer.body)).toBe(404)
        expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: one.versionId, rollout: null })
      })
    })

    describe('a rollback', { ...LONG, timeout: 180_000 }, () => {
      it('runs the version again that ran before, as its plan says: every row once', async () => {
        const one = await deployed('undo')
        const two = await nextVersion(one, 'undo')
        await lab.append('undo', 10, 15)
        await lab.deploy(one)
        await lab.untilState(one, 'in_sync')
        await lab.append('undo', 15, 20)
        const { plan, plan_id: planId } = await preview(one, 'rollback')
        expect(plan).toMatchObject({
          action: 'rollback',
          runs: { version_id: two.versionId },
          would_run: { version_id: one.versionId, checkpoint: 'same' },
        })
        const { status, body } = await lab.change('rollback', one, 'development', { plan_id: planId })
        expect(status, JSON.stringify(body)).toBe(200)
        const now = await lab.untilState(one, 'rolled_back')
        expect(now).toMatchObject({ running_version_id: one.versionId, newest_version_id: two.versionId })
        expect(now.reason).toMatch(/rolled back by/)
        await lab.append('undo', 20, 30)
        await lab.untilCopied('undo', 30)
        const { body: history } = await lab.lab.service.get(`${one.definition}/deployments`)
        expect(history[0]).toMatchObject({ action: 'rollback', outcome: 'succeeded', version_id: one.versionId })
      })

      it('of a rollback runs the newer version again', async () => {
        const one = await deployed('again')
        const two = await nextVersion(one, 'again')
        const endWriting = lab.writeOn('again', 10)
        await lab.deploy(one)
        await lab.untilState(one, 'in_sync')
        await lab.change('rollback', one)
        await lab.untilState(one, 'rolled_back')
        await lab.change('rollback', one)
        await lab.untilCopied('again', await endWriting())
        const runs = async () => (await lab.deploymentOf(one)).rollout === null && (await lab.deploymentOf(one))
        await expect.poll(runs, { timeout: 60_000 }).toMatchObject({ running_version_id: two.versionId })
      })

      it('while a version is watched ends that: the one before runs again', async () => {
        const one = await deployed('watched')
        // nothing to read, so it is watched for a while
        await nextVersion(one, 'watched')
        await lab.deploy(one)
        const isWatched = async () => (await lab.deploymentOf(one)).rollout?.phase
        await expect.poll(isWatched, { timeout: 60_000, interval: 10 }).toBe('watching')
        const dry = await lab.change('rollback', one, 'development', { dry_run: true })
        expect(dry.status).toBe(409)
        const { status, body } = await lab.change('rollback', one)
        expect(status, JSON.stringify(body)).toBe(200)
        const now = await lab.untilState(one, 'rolled_back')
        expect(now).toMatchObject({ running_version_id: one.versionId })
        expect(now.reason).toMatch(/during verification/)
        await lab.append('watched', 10, 15)
        await lab.untilCopied('watched', 15)
      })

      it('of one rollout undoes that one while it is watched, and nothing else', async () => {
        const one = await deployed('named')
        await nextVersion(one, 'named')
        await lab.deploy(one)
        const rollout = async () => (await lab.deploymentOf(one)).rollout
        await expect.poll(async () => (await rollout())?.phase, { timeout: 60_000, interval: 10 }).toBe('watching')
        const { id } = await rollout()
        expect((await lab.change('rollback', one, 'development', { rollout_id: 'dep-another' })).status).toBe(409)
        expect((await lab.change('rollback', one, 'development', { rollout_id: id })).status).toBe(200)
        const back = await lab.untilState(one, 'rolled_back')
        expect(back).toMatchObject({ running_version_id: one.versionId })
        const late = await lab.change('rollback', one, 'development', { rollout_id: id })
        expect([late.status, late.body.detail]).toEqual([409, expect.stringMatching(/nothing was rolled back/)])
        expect(await lab.deploymentOf(one)).toMatchObject({ running_version_id: one.versionId, rollout: null })
      })

      it('is refused where no other version has run', async () => {
        const one = await deployed('alone')
        const { status, body } = await lab.change('rollback', one)
        expect([status, body.detail]).toEqual([409, expect.stringMatching(/no other version has run/)])
      })
    })

    describe('an undeployment', { ...LONG, timeout: 180_000 }, () => {
      it('keeps the checkpoint: a later deployment continues there', async () => {
        const one = await deployed('paused')
        const { pipeline_id: pipelineId } = await lab.deploymentOf(one)
        const { plan, plan_id: planId } = await preview(one, 'undeploy')
        expect(plan).toMatchObject({ would_run: null, consequences: [expect.stringMatching(/checkpoint is kept/)] })
        expect((await lab.change('undeploy', one, 'development', { plan_id: planId })).status).toBe(200)
        const gone = await lab.untilState(one, 'none')
        expect(gone).toMatchObject({ running_version_id: null, desired_version_id: null })
        expect((await lab.change('undeploy', one)).status).toBe(409)
        await lab.append('paused', 10, 20)
        expect(await lab.idsIn('s.paused_out')).toHaveLength(10)
        const { plan: next } = await preview(one)
        expect(next).toMatchObject({ would_run: { checkpoint: 'same' }, sources: [{ starts: 'continues' }] })
        await lab.deploy(one)
        expect(await lab.untilState(one, 'in_sync')).toMatchObject({ pipeline_id: pipelineId })
        await lab.untilCopied('paused', 20)
      })

      it('followed by another version continues too, also with other sources', async () => {
        const one = await deployed('later')
        await lab.tables('later_more', 0)
        await lab.change('undeploy', one)
        await lab.untilState(one, 'none')
        await lab.append('later', 10, 20)
        await lab.users.addVersion(one.definitionId, graphOf(['s.later_more_in', 's.later_in'], 's.later_out'))
        const { plan } = await preview(one)
        expect(plan).toMatchObject({
          would_run: { checkpoint: 'new' },
          sources: [{ starts: 'beginning' }, { starts: 'continues' }],
        })
        await lab.deploy(one)
        await lab.untilState(one, 'in_sync')
        await lab.untilCopied('later', 20)
      })
    })

    describe('a fresh checkpoint', { ...LONG, timeout: 180_000 }, () => {
      it('reads all rows again, as its plan says', async () => {
        const one = await deployed('fresh')
        const before = await lab.deploymentOf(one)
        const { plan, plan_id: planId } = await preview(one, 'deploy', { checkpoint: 'fresh' })
        expect(plan).toMatchObject({
          would_run: { checkpoint: 'new' },
          sources: [{ starts: 'beginning', offset: null }],
        })
        expect(plan.consequences).toContainEqual(expect.stringMatching(/written again/))
        const { status } = await lab.deploy(one, 'development', { checkpoint: 'fresh', plan_id: planId })
        expect(status).toBe(200)
        const now = await lab.untilState(one, 'in_sync')
        expect(now.pipeline_id).not.toBe(before.pipeline_id)
        const twice = Array.from({ length: 20 }, (_, at) => Math.floor(at / 2))
        await expect.poll(() => lab.idsIn('s.fresh_out'), { timeout: 60_000 }).toEqual(twice)
        await lab.append('fresh', 10, 12)
        await expect.poll(() => lab.idsIn('s.fresh_out'), { timeout: 60_000 }).toEqual([...twice, 10, 11])
        expect((await lab.lab.service.get(`/api/pipeline/${before.pipeline_id}/status`)).status).toBe(404)
      })

      it('that fails is undone: the version before continues on its own checkpoint, and no row is repeated', async () => {
        const one = await deployed('stale')
        const before = await lab.deploymentOf(one)
        await nextVersion(one, 'stale', "error('bad row') IS NULL")
        await lab.deploy(one, 'development', { checkpoint: 'fresh' })
        const now = await lab.untilState(one, 'rolled_back')
        expect(now).toMatchObject({ running_version_id: one.versionId, pipeline_id: before.pipeline_id })
        await lab.append('stale', 10, 15)
        await lab.untilCopied('stale', 15)
      })
    })
  })
}
