import type { DeploymentKey } from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { IdSource } from '../../domain/ids.ts'
import { beginRollout } from './begin-rollout.ts'
import { ON_ARRIVAL } from './deployment-change.ts'
import type { RolloutRecorder } from './waiting-rollout.ts'

/** What begins the rollouts that were queued behind others. */
export interface QueueDeps extends RolloutRecorder {
  readonly newId: IdSource
}

interface Ended extends DeploymentKey {
  readonly rollout: Rollout
}

/** Begins what arrived during a rollout that has ended; it may wait for a window. */
export async function beginQueued(
  deps: QueueDeps,
  tx: Tx,
  { definitionId, environment, rollout: { queued, isQueuedNow } }: Ended,
): Promise<void> {
  if (queued === undefined) return
  await beginRollout(deps, tx, {
    key: { definitionId, environment },
    id: deps.newId('dep'),
    action: queued,
    versionId: undefined,
    checkpoint: 'continue',
    fingerprint: undefined,
    startedBy: ON_ARRIVAL,
    context: undefined,
    isNow: isQueuedNow === true,
  })
}
