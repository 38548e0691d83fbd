import type { DeploymentOutcome, RecordedState } from '../../domain/deployments.ts'
import { createDeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import type { DeploymentGuard } from '../../storage/stores/deployments/rollout-record.ts'
import type { Tx } from '../../storage/transactions.ts'
import { beginQueued } from './queued-rollout.ts'
import { type DeploymentChange, present, recordDeployment, type RollingOut, saveHeld } from './deployment-change.ts'
import type { RolloutDeps } from './deployment-deps.ts'

/** How a rollout ended. */
export interface RolloutEnd {
  readonly record: RollingOut
  readonly state: Exclude<RecordedState, 'rolling_out' | 'waiting_for_window'>
  readonly outcome: Exclude<DeploymentOutcome, 'running' | 'cancelled'>
  readonly desiredVersionId: string | undefined
  readonly runningVersionId: string | undefined
  readonly pipelineId: string | undefined
  readonly reason: string | undefined
  /** What may roll back the deployment by itself. */
  readonly guard?: DeploymentGuard | undefined
}

/** Ends a rollout in its transaction; what was queued meanwhile starts, or waits for a window. */
export async function endRollout(deps: RolloutDeps, tx: Tx, end: RolloutEnd): Promise<void> {
  const { record, state, desiredVersionId, runningVersionId, pipelineId, reason, guard } = end
  const wanted = wantedVersion(record)
  await endHistory(deps, tx, end)
  const { definitionId, environment, revision, basis } = record
  await saveHeld(deps, tx, {
    definitionId,
    environment,
    revision,
    updatedAt: record.updatedAt,
    state,
    ...present({ basis, desiredVersionId, runningVersionId, pipelineId, reason, guard }),
  })
  await recordDeployment(deps, tx, {
    key: record,
    event: eventOf(end),
    action: record.rollout.action,
    context: undefined,
    outcome: end.outcome === 'succeeded' ? 'done' : 'failed',
    data: {
      rollout_id: record.rollout.id,
      version_id: wanted ?? null,
      running_version_id: runningVersionId ?? null,
      pipeline_id: pipelineId ?? null,
      reason: reason ?? null,
    },
  })
  await beginQueued(deps, tx, record)
}

function wantedVersion({ rollout }: RollingOut): string | undefined {
  return rollout.planned?.pipeline.versionId ?? rollout.versionId
}

async function endHistory(deps: RolloutDeps, tx: Tx, { record, outcome, reason }: RolloutEnd): Promise<void> {
  const { rollout, runningVersionId } = record
  await createDeploymentHistoryStore(tx).end(rollout.id, {
    outcome,
    endedAt: deps.now().toISOString(),
    ...present({
      versionId: wantedVersion(record),
      previousVersionId: rollout.previous?.versionId ?? runningVersionId,
      parameters: rollout.planned?.pipeline.parameters,
      reason,
    }),
  })
}

const EVENT_OF: Readonly<Record<RolloutEnd['state'], DeploymentChange['event']>> = {
  none: 'undeployed',
  in_sync: 'finished',
  rolled_back: 'rolled_back',
  failed: 'failed',
}

function eventOf({ record, outcome, state }: RolloutEnd): DeploymentChange['event'] {
  if (record.rollout.action === 'undeploy' && outcome === 'succeeded') return 'undeployed'
  return EVENT_OF[state]
}
