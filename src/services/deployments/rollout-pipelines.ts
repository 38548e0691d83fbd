import { DomainError } from '../../domain/errors.ts'
import type { PlannedRun } from '../../storage/stores/deployments/rollout-record.ts'
import { createOperationStore } from '../../storage/stores/operations/operation-store.ts'
import { createPipelineStore, type PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { appendPipelineEvent } from '../pipelines/pipeline-events.ts'
import { requireNoRollback, runningRollbacks } from '../pipelines/running-rollbacks.ts'
import type { RolloutDeps } from './deployment-deps.ts'

/** What is known of the pipeline that ran before the rollout. */
export interface Restoration {
  readonly previous: PipelineRecord
  readonly planned: PlannedRun | undefined
  readonly wasLive: boolean
}

/** Starts the old pipeline again as it was, or leaves it stopped or failed if it was that; the new one is deleted. */
export async function restorePipeline(deps: RolloutDeps, tx: Tx, restoration: Restoration): Promise<void> {
  const { previous, planned, wasLive } = restoration
  if (wasLive) requireNoRollback(await runningRollbacks(createOperationStore(tx)), previous)
  const store = createPipelineStore(tx)
  const now = await store.find(previous.id)
  if (planned && planned.pipeline.id !== previous.id) await deletePipeline(deps, tx, planned.pipeline)
  if (now === undefined) return
  const restored = asBefore(deps, restoration, now)
  if (!(await store.revive(restored))) throw new Error(`pipeline ${previous.id} runs, although it was stopped`)
  const { state } = restored
  const type = state === 'starting' ? 'pipeline.started' : state === 'failed' ? 'pipeline.failed' : undefined
  if (type !== undefined) await appendPipelineEvent(deps.events, tx, { type, pipeline: restored })
}

/** The old pipeline to be stored; `now` is what is stored of it. */
function asBefore(deps: RolloutDeps, { previous, wasLive }: Restoration, now: PipelineRecord): PipelineRecord {
  const { leaseOwner: _, leaseUntilMs: __, error, ...fields } = previous
  return {
    ...fields,
    // the new version may have read further on the same checkpoint
    ...(now.positions ? { positions: now.positions } : {}),
    ...(now.progress ? { progress: now.progress } : {}),
    ...(wasLive
      ? { runId: deps.newId('run'), state: 'starting', startedAt: deps.now().toISOString() }
      : { state: previous.state === 'failed' ? 'failed' : 'stopped', ...(error ? { error } : {}) }),
    desiredState: wasLive ? 'running' : 'stopped',
  }
}

/** Inserts a pipeline, or starts a known one again with new values; waits for rollbacks of its tables to end. */
export async function writePipeline(
  deps: Pick<RolloutDeps, 'events'>,
  tx: Tx,
  pipeline: PipelineRecord,
): Promise<void> {
  requireNoRollback(await runningRollbacks(createOperationStore(tx)), pipeline)
  const store = createPipelineStore(tx)
  if ((await store.find(pipeline.id)) === undefined) await store.insert(pipeline)
  else if (!(await store.revive(pipeline))) throw new DomainError('CONFLICT', `pipeline ${pipeline.id} is running`)
  await appendPipelineEvent(deps.events, tx, { type: 'pipeline.started', pipeline })
}

/** Deletes a pipeline that is not live. */
export async function deletePipeline(
  { events }: Pick<RolloutDeps, 'events'>,
  tx: Tx,
  pipeline: PipelineRecord,
): Promise<void> {
  if (!(await createPipelineStore(tx).delete(pipeline.id))) return
  await appendPipelineEvent(events, tx, { type: 'pipeline.deleted', pipeline })
}
