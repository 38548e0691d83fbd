import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numbered } from '../../streaming/support.ts'
import { LONG } from '../../support/effort.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'
import { type DeployLab, graphOf, openDeployLab } from './deploy-lab.ts'

describe.each(stateKindsOfWholeRuns.filter(({ skip }) => !skip))('deployments on $name', ({ place }) => {
  let lab: DeployLab
  beforeAll(async () => {
    const { env, remove } = await place()
    lab = await openDeployLab({ env, onClose: remove })
  })
  afterAll(() => lab.close())

  describe('a first deployment', () => {
    it('starts a pipeline and is in sync after its first batch', async () => {
      await lab.tables('first')
      const place = await lab.define('first')
      expect(await lab.deploymentOf(place)).toMatchObject({ state: 'none', newest_version_id: place.versionId })
      const { status, body } = await lab.deploy(place)
      expect(status, JSON.stringify(body)).toBe(200)
      expect(body).toMatchObject({ state: 'rolling_out', desired_version_id: place.versionId })
      const now = await lab.untilState(place, 'in_sync')
      expect(now).toMatchObject({ running_version_id: place.versionId, reason: null, rollout: null })
      await lab.untilCopied('first', 10)
      expect(await lab.pipeline(now.pipeline_id)).toMatchObject({ state: 'running', version_id: place.versionId })
      const again = await lab.deploy(place)
      expect(again.body).toMatchObject({ state: 'in_sync', pipeline_id: now.pipeline_id })
      const { events } = (await lab.lab.service.get('/api/events?limit=1000')).body
      const told = events.filter(({ type }: { type: string }) => /^(pipeline|deployment)\./.test(type))
      expect(told.map(({ type }: { type: string }) => type)).toEqual([
        'deployment.started',
        'pipeline.started',
        'deployment.finished',
      ])
      expect(told[1].data).toMatchObject({
        id: now.pipeline_id,
        definition_id: place.definitionId,
        version_id: place.versionId,
        environment: now.environment,
      })
    })

    it('with nothing to read is in sync when it has been idle for a while', LONG, async () => {
      await lab.tables('idle', 0)
      const place = await lab.define('idle')
      await lab.deploy(place)
      await lab.untilState(place, 'in_sync')
      await lab.append('idle', 0, 5)
      await lab.untilCopied('idle', 5)
    })

    it('that fails is failed, and its pipeline has stopped', async () => {
      await lab.tables('broken', 3)
      const place = await lab.define('broken', 'broken', "1 / (id - id) > 0 AND error('bad row') IS NULL")
      await lab.deploy(place)
      const now = await lab.untilState(place, 'failed')
      expect(now).toMatchObject({ running_version_id: null, desired_version_id: place.versionId })
      expect(now.reason).toMatch(/failed/)
      expect((await lab.pipeline(now.pipeline_id)).state).toMatch(/stopped|failed/)
    })
  })

  describe('another version', () => {
    it('continues on the same checkpoint: every row once', LONG, async () => {
      await lab.tables('next')
      const one = await lab.define('next')
      await lab.deploy(one)
      const before = await lab.untilState(one, 'in_sync')
      await lab.untilCopied('next', 10)
      const two = await lab.users.addVersion(one.definitionId, graphOf(['s.next_in'], 's.next_out', 'id > -1'))
      expect(await lab.deploymentOf(one)).toMatchObject({ state: 'out_of_date', newest_version_id: two.versionId })
      await lab.append('next', 10, 20)
      expect((await lab.deploy(one)).status).toBe(200)
      const now = await lab.untilState(one, 'in_sync')
      expect(now).toMatchObject({ running_version_id: two.versionId, pipeline_id: before.pipeline_id })
      await lab.append('next', 20, 30)
      await lab.untilCopied('next', 30)
    })

    it('that fails is rolled back: the old one runs again, no row missing or doubled', LONG, async () => {
      await lab.tables('back')
      const one = await lab.define('back')
      await lab.deploy(one)
      await lab.untilState(one, 'in_sync')
      await lab.untilCopied('back', 10)
      const bad = await lab.users.addVersion(
        one.definitionId,
        graphOf(['s.back_in'], 's.back_out', "CASE WHEN id >= 10 THEN error('bad row') IS NULL ELSE true END"),
      )
      const endWriting = lab.writeOn('back', 10)
      await lab.deploy(one)
      const now = await lab.untilState(one, 'rolled_back')
      const rows = await endWriting()
      expect(now).toMatchObject({ running_version_id: one.versionId, desired_version_id: bad.versionId })
      expect(now.reason).toMatch(/3 times/)
      await lab.untilCopied('back', rows)
      await lab.append('back', rows, rows + 5)
      await lab.untilCopied('back', rows + 5)
      const { body } = await lab.lab.service.get(`${one.definition}/deployments`)
      expect(body.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['rolled_back', 'succeeded'])
    })

    it('with other sources carries the offsets of those that remain over to a new checkpoint', LONG, async () => {
      await lab.tables('carry')
      await lab.tables('extra', 0)
      const one = await lab.define('carry')
      await lab.deploy(one)
      const before = await lab.untilState(one, 'in_sync')
      await lab.untilCopied('carry', 10)
      await lab.lab.append('s.extra_in', numbered(100, 105))
      const graph = graphOf(['s.extra_in', 's.carry_in'], 's.carry_out')
      await lab.users.addVersion(one.definitionId, graph)
      const { body: preview } = await lab.deploy(one, 'development', { dry_run: true })
      expect(preview.plan).toMatchObject({
        problems: [],
        would_run: { checkpoint: 'new' },
        sources: [
          { table: 's.extra_in', starts: 'beginning', offset: null },
          { table: 's.carry_in', starts: 'continues' },
        ],
      })
      await lab.append('carry', 10, 12)
      expect((await lab.deploy(one, 'development', { plan_id: preview.plan_id })).status).toBe(200)
      const now = await lab.untilState(one, 'in_sync')
      expect(now.pipeline_id).not.toBe(before.pipeline_id)
      await expect
        .poll(() => lab.idsIn('s.carry_out'), { timeout: 60_000 })
        .toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 101, 102, 103, 104])
      expect((await lab.lab.service.get(`/api/pipeline/${before.pipeline_id}/status`)).status).toBe(404)
    })
  })
})
