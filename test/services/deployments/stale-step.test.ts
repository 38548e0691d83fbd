import { Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RolloutDeps } from '../../../src/services/deployments/deployment-deps.ts'
import { Superseded } from '../../../src/services/deployments/deployment-change.ts'
import { takeStep } from '../../../src/services/deployments/rollout-steps.ts'
import type { StateTables } from '../../../src/storage/schema.ts'
import { createDeploymentStore } from '../../../src/storage/stores/deployments/deployment-store.ts'
import { createPipelineStore } from '../../../src/storage/stores/pipelines/pipeline-store.ts'
import type { InTransaction } from '../../../src/storage/transactions.ts'
import { openStateFile } from '../../support/state/state-file.ts'
import { type DeployLab, openDeployLab } from './deploy-lab.ts'
import { LONG } from '../../support/effort.ts'

let lab: DeployLab
let db: Kysely<StateTables>
beforeAll(async () => {
  lab = await openDeployLab()
  db = new Kysely<StateTables>({ dialect: openStateFile(`${lab.lab.service.folder}/home/state.db`) })
})
afterAll(async () => {
  await db.destroy()
  await lab.close()
})

/** What the steps that stop a pipeline use, in a process that was paused and has no pipelines of its own. */
function depsOfPausedProcess(): RolloutDeps {
  const inTransaction: InTransaction = (work) => db.transaction().execute(work)
  return {
    pipelines: createPipelineStore(db),
    inTransaction,
    now: () => new Date(),
    instanceId: 999,
    stopRequests: new Set<string>(),
    supervisor: { runNow: async () => undefined, stop: async () => undefined },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these steps need nothing else
  } as unknown as RolloutDeps
}

describe.each(['stopping', 'withdrawing'] as const)(
  'a step of a rollout that goes on after a pause while %s',
  (phase) => {
    it('does not stop the pipeline that runs since another process has finished the rollout', LONG, async () => {
      await lab.tables(phase)
      const place = await lab.define(phase)
      await lab.deploy(place)
      await lab.untilState(place, 'in_sync')
      const { definitionId } = place
      const record = await createDeploymentStore(db).find({ definitionId, environment: 'development' })
      const pipeline = await createPipelineStore(db).find(record?.pipelineId ?? '')
      if (record === undefined || pipeline === undefined) throw new Error('nothing is deployed')
      const rollout = {
        id: 'dep-stale',
        action: 'deploy' as const,
        phase,
        checkpoint: 'continue' as const,
        startedBy: 'ed',
        phaseSinceMs: 0,
        previous: pipeline,
        planned: { pipeline, isSameCheckpoint: true, sources: [], sinkUuid: '' },
      }
      const stale = { ...record, revision: record.revision - 1, rollout }
      await expect(takeStep(depsOfPausedProcess(), stale)).rejects.toBeInstanceOf(Superseded)
      expect(await lab.pipeline(pipeline.id)).toMatchObject({ state: 'running', desired_state: 'running' })
      await lab.append(phase, 10, 15)
      await lab.untilCopied(phase, 15)
    })
  },
)
