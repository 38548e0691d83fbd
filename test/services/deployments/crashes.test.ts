import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InTransaction } from '../../../src/storage/transactions.ts'
import { FAST } from '../../streaming/support.ts'
import { LONG, shares } from '../../support/effort.ts'
import type { Place } from '../../support/lifecycle.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab, QUICK } from './deploy-lab.ts'

/** Fails one transaction of a rollout: before it begins, or after its commit, as a crash at that moment would. */
const fault = { at: 0, moment: 'before' as 'before' | 'after', seen: 0 }

const wrapTransactions =
  (inTransaction: InTransaction): InTransaction =>
  async (work) => {
    fault.seen += 1
    const isNow = fault.seen === fault.at
    if (isNow && fault.moment === 'before') throw new Error('the process ended before the transaction')
    const result = await inTransaction(work)
    if (isNow && fault.moment === 'after') throw new Error('the process ended after the commit')
    return result
  }

const BAD = "error('bad row') IS NULL"
const cases = [1, 2, 3, 4, 5, 6, 7].flatMap((at) => [
  { at, moment: 'after' as const },
  { at, moment: 'before' as const },
])

/** PostgreSQL on Bun only, which runs the service: each of these rollouts takes about ten seconds. */
const kinds = stateKinds.filter(({ name, skip }) => !skip && ('Bun' in globalThis || name === 'SQLite'))

for (const kind of kinds) {
  const isEmbedded = kind.name === 'SQLite'
  const tags = isEmbedded ? {} : LONG
  // The steps are those of SQLite; what differs is how a database ends a transaction.
  const kindCases = isEmbedded ? cases : cases.filter(({ at }) => at % 3 === 1)
  describe(`rollouts on ${kind.name}`, tags, () => {
    let lab: DeployLab
    let place: Place
    let rows = 10
    let versions = 0
    beforeAll(async () => {
      const { env, remove } = await kind.place()
      lab = await openDeployLab({
        env,
        onClose: remove,
        overrides: { streaming: FAST, deployments: { ...QUICK, wrapTransactions } },
      })
      await lab.tables('crash', rows)
      await lab.tables('other', 0)
      place = await lab.users.create('crash', graphOf(['s.crash_in', 's.other_in'], 's.crash_out'))
      await lab.deploy(place)
      await lab.untilState(place, 'in_sync')
    })
    afterAll(() => lab.close())

    /** Deploys another version while rows are written, with one fault, and waits for the end of the rollout. */
    async function rollOut(graph: object): Promise<{ running_version_id: string; state: string; pipeline_id: string }> {
      await lab.users.addVersion(place.definitionId, graph)
      const endWriting = lab.writeOn('crash', rows)
      fault.seen = 0
      expect((await lab.deploy(place)).status).toBe(200)
      const ended = await until(
        async () => {
          const now = await lab.deploymentOf(place)
          return now.rollout === null && now
        },
        async () => JSON.stringify(await lab.deploymentOf(place)),
        120_000,
      )
      rows = await endWriting()
      return ended
    }

    async function expectOnePipeline(pipelineId: string): Promise<void> {
      const { body } = await lab.lab.service.get('/api/pipelines')
      const live = body.pipelines.filter(({ state }: { state: string }) => state !== 'stopped' && state !== 'failed')
      expect(
        live.map(({ id }: { id: string }) => id),
        JSON.stringify(await lab.pipeline(pipelineId)),
      ).toEqual([pipelineId])
    }

    describe.each(shares(kindCases, 1))('a rollout whose process ends', (some, options) => {
      it.each(some)(
        '$moment transaction $at is carried out: every row once',
        { ...options, timeout: 180_000 },
        async (given) => {
          Object.assign(fault, given)
          versions += 1
          const sources = versions % 2 === 0 ? ['s.crash_in', 's.other_in'] : ['s.other_in', 's.crash_in']
          const ended = await rollOut(graphOf(sources, 's.crash_out', `id >= ${-versions}`))
          expect(ended).toMatchObject({ state: 'in_sync' })
          await expectOnePipeline(ended.pipeline_id)
          await lab.untilCopied('crash', rows)
        },
      )

      it.each(some)(
        '$moment transaction $at is undone: every row once',
        { ...LONG, timeout: 180_000 },
        async (given) => {
          Object.assign(fault, given)
          const before = (await lab.deploymentOf(place)).running_version_id
          const isOther = given.at % 2 === 0
          const sources = isOther ? ['s.crash_in', 's.other_in'] : ['s.other_in', 's.crash_in']
          const ended = await rollOut(graphOf(sources, 's.crash_out', BAD))
          expect(ended).toMatchObject({ state: 'rolled_back', running_version_id: before })
          await expectOnePipeline(ended.pipeline_id)
          await lab.untilCopied('crash', rows)
        },
      )
    })
  })
}
