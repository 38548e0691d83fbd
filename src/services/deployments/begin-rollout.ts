import type { RequestContext } from '../../domain/audit.ts'
import type { DeployCheckpoint, DeploymentAction } from '../../domain/deployments.ts'
import { DomainError } from '../../domain/errors.ts'
import { createDeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import {
  createDeploymentStore,
  type DeploymentKey,
  type DeploymentRecord,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import { createVersionStore } from '../../storage/stores/version-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { versionToRun } from './planning/candidates.ts'
import { isOpenNow, opensAt, readRules } from '../environments/environment-rules.ts'
import { createEnvironmentStore } from '../../storage/stores/environment-store.ts'
import { present, recordDeployment } from './deployment-change.ts'
import { beforeOf, type RolloutRecorder, withoutWaiting } from './waiting-rollout.ts'

/** A rollout to store; the worker carries it out. */
export interface NewRollout {
  readonly key: DeploymentKey
  readonly id: string
  readonly action: DeploymentAction
  readonly versionId: string | undefined
  readonly checkpoint: DeployCheckpoint
  readonly fingerprint: string | undefined
  readonly startedBy: string
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  /** Whether it takes a version out of the environment, and does not wait for a window. */
  readonly isNow?: boolean
  /** Why the service begins it. */
  readonly because?: string
}

/**
 * Stores a rollout in its transaction. A deployment outside of the windows of its environment waits for one; a rollout that
 * waits is replaced. Throws `CONFLICT` when one is in progress.
 */
export async function beginRollout(deps: RolloutRecorder, tx: Tx, request: NewRollout): Promise<void> {
  const { key, id, action, versionId, checkpoint, fingerprint, startedBy, context, because } = request
  const deployments = createDeploymentStore(tx)
  const found = await deployments.find(key)
  if (found?.rollout && found.rollout.phase !== 'waiting_for_window') throw rolloutInProgress(found)
  const known = found && (await withoutWaiting(deps, tx, { record: found, reason: `replaced by ${id}`, context }))
  const now = deps.now()
  const at = { updatedAt: now.toISOString() }
  const { reason, guard, ...kept }: DeploymentRecord = known ?? { ...key, ...at, state: 'none', revision: 0 }
  const rules = await readRules(createEnvironmentStore(tx), key.environment)
  const waits = action === 'deploy' && request.isNow !== true && !isOpenNow(rules, now)
  const rollout: Rollout = {
    id,
    action,
    phase: waits ? 'waiting_for_window' : 'validating',
    checkpoint,
    startedBy,
    phaseSinceMs: now.getTime(),
    ...present({ versionId, fingerprint, requestId: context?.requestId, because }),
    ...(waits ? { before: beforeOf(kept, reason) } : {}),
  }
  const record: DeploymentRecord = {
    ...kept,
    ...at,
    state: waits ? 'waiting_for_window' : 'rolling_out',
    rollout,
    ...(waits ? present({ guard }) : {}),
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
    event: waits ? 'held' : 'started',
    action,
    context,
    outcome: 'begun',
    data: {
      rollout_id: id,
      version_id: wanted ?? null,
      running_version_id: known?.runningVersionId ?? null,
      started_by: startedBy,
      ...(waits ? { opens_at: opensAt(rules, now) } : {}),
      ...(because === undefined ? {} : { reason: because }),
    },
  })
}

/** The error for a deployment whose rollout has not ended. */
export function rolloutInProgress({ definitionId, environment, rollout }: DeploymentRecord): DomainError {
  if (rollout?.phase === 'waiting_for_window') {
    const message = `a rollout of ${definitionId} in ${environment} waits for a window: override the window, or cancel the rollout with a rollback`
    return new DomainError('CONFLICT', message)
  }
  const phase = rollout ? ` (${rollout.action}, ${rollout.phase})` : ''
  const message = `a rollout of ${definitionId} in ${environment} is in progress${phase}: wait until it has ended`
  return new DomainError('CONFLICT', message, { retryAfterS: 5 })
}
