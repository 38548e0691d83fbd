import type { RequestContext } from '../../domain/audit.ts'
import type { DeployCheckpoint, DeploymentAction } from '../../domain/deployments.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IntoBranch, StartFrom } from '../../schemas/pipelines.ts'
import { createDeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import {
  createDeploymentStore,
  type DeploymentKey,
  type DeploymentRecord,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import { createVersionStore } from '../../storage/stores/version-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { DeploymentServiceDeps } from './deployment-deps.ts'
import { versionToRun } from './candidates.ts'
import { present, recordDeployment } from './rollout-end.ts'

/** A rollout to store; the worker carries it out. */
export interface NewRollout {
  readonly key: DeploymentKey
  readonly id: string
  readonly action: DeploymentAction
  readonly versionId: string | undefined
  readonly checkpoint: DeployCheckpoint
  /** Where a fresh checkpoint begins. */
  readonly from?: StartFrom | undefined
  /** The branch that gets its rows before `main`. */
  readonly branch?: IntoBranch | undefined
  readonly fingerprint: string | undefined
  readonly startedBy: string
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
}

/** Stores a rollout in its transaction. Throws `CONFLICT` when one is in progress. */
export async function beginRollout(
  deps: Pick<DeploymentServiceDeps, 'audit' | 'events' | 'now'>,
  tx: Tx,
  request: NewRollout,
): Promise<void> {
  const { key, id, action, versionId, checkpoint, from, branch, fingerprint, startedBy, context } = request
  const deployments = createDeploymentStore(tx)
  const known = await deployments.find(key)
  if (known?.rollout) throw rolloutInProgress(known)
  const now = deps.now()
  const rollout: Rollout = {
    id,
    action,
    phase: 'validating',
    checkpoint,
    startedBy,
    phaseSinceMs: now.getTime(),
    ...present({ versionId, from, branch, fingerprint, requestId: context?.requestId }),
  }
  const at = { updatedAt: now.toISOString() }
  const { reason: _, ...kept }: DeploymentRecord = known ?? { ...key, ...at, state: 'none', revision: 0 }
  const record: DeploymentRecord = {
    ...kept,
    ...at,
    state: 'rolling_out',
    rollout,
    ...(versionId === undefined ? {} : { desiredVersionId: versionId }),
  }
  if (!(await deployments.save(record)))
    throw new DomainError('CONFLICT', 'the deployment was changed at the same time')
  const started = { outcome: 'running' as const, startedBy, startedAt: now.toISOString() }
  const asked = { action, versionId, runningVersionId: known?.runningVersionId }
  const wanted = await versionToRun({ versions: createVersionStore(tx) }, key, asked)
  const shown = present({ versionId: wanted })
  await createDeploymentHistoryStore(tx).insert({ ...key, id, action, ...started, ...shown })
  await recordDeployment(deps, tx, {
    key,
    event: 'started',
    action,
    context,
    outcome: 'begun',
    data: {
      rollout_id: id,
      version_id: wanted ?? null,
      running_version_id: known?.runningVersionId ?? null,
      started_by: startedBy,
    },
  })
}

/** The error for a deployment whose rollout has not ended. */
export function rolloutInProgress({ definitionId, environment, rollout }: DeploymentRecord): DomainError {
  const phase = rollout ? ` (${rollout.action}, ${rollout.phase})` : ''
  const message = `a rollout of ${definitionId} in ${environment} is in progress${phase}: wait until it has ended`
  return new DomainError('CONFLICT', message, { retryAfterS: 5 })
}
