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
import { createVersionStore, type VersionStore } from '../../storage/stores/version-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { versionToRun } from './planning/candidates.ts'
import { isOpenNow, opensAt, readRules } from '../environments/environment-rules.ts'
import { createEnvironmentStore } from '../../storage/stores/environment-store.ts'
import { present, recordDeployment } from './deployment-change.ts'
import { beforeOf, isWaiting, type RolloutRecorder, withoutWaiting } from './waiting-rollout.ts'

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
  /** Whether it never waits for a window, because it takes a version out of the environment. */
  readonly isNow?: boolean
  /** Why the service begins it. */
  readonly because?: string
}

/**
 * Stores a rollout in its transaction. A deployment outside of the windows of its environment waits for one. A rollout that
 * never waits replaces one that does. Throws `CONFLICT` when another one is in progress.
 */
export async function beginRollout(deps: RolloutRecorder, tx: Tx, request: NewRollout): Promise<void> {
  const { key, id, context } = request
  const deployments = createDeploymentStore(tx)
  const found = await deployments.find(key)
  const mayWait = await bringsVersion(createVersionStore(tx), request, found?.runningVersionId)
  if (found?.rollout && (mayWait || !isWaiting(found))) throw rolloutInProgress(found)
  const known = found && (await withoutWaiting(deps, tx, { record: found, reason: `replaced by ${id}`, context }))
  const now = deps.now()
  const rules = await readRules(createEnvironmentStore(tx), key.environment)
  const waits = mayWait && !isOpenNow(rules, now)
  const before = known ?? { ...key, updatedAt: now.toISOString(), state: 'none', revision: 0 }
  if (!(await deployments.save(recordOf(request, { before, waits, now }))))
    throw new DomainError('CONFLICT', 'the deployment was changed at the same time')
  await recordBegin(deps, tx, { request, before, opening: waits ? { at: opensAt(rules, now) } : undefined })
}

/** Whether a rollout brings a version into the environment, as also a rollback to a newer one does. */
async function bringsVersion(
  versions: Pick<VersionStore, 'find'>,
  { key, action, versionId, isNow = false }: NewRollout,
  runningVersionId: string | undefined,
): Promise<boolean> {
  if (isNow || action === 'undeploy') return false
  if (action === 'deploy') return true
  if (versionId === undefined || runningVersionId === undefined) return false
  const [wanted, running] = await Promise.all(
    [versionId, runningVersionId].map((id) => versions.find(key.definitionId, id)),
  )
  return wanted !== undefined && running !== undefined && wanted.version > running.version
}

interface Begin {
  /** The deployment as it is. */
  readonly before: DeploymentRecord
  readonly waits: boolean
  readonly now: Date
}

/** The deployment with its new rollout. While that waits, the guard of what runs is kept. */
function recordOf(request: NewRollout, { before, waits, now }: Begin): DeploymentRecord {
  const { id, action, versionId, checkpoint, from, branch, fingerprint, startedBy, context, because } = request
  const { reason, guard, ...kept } = before
  const rollout: Rollout = {
    id,
    action,
    phase: waits ? 'waiting_for_window' : 'validating',
    checkpoint,
    startedBy,
    phaseSinceMs: now.getTime(),
    ...present({ versionId, from, branch, fingerprint, requestId: context?.requestId, because }),
    ...(waits ? { before: beforeOf(kept, reason) } : {}),
  }
  return {
    ...kept,
    updatedAt: now.toISOString(),
    state: waits ? 'waiting_for_window' : 'rolling_out',
    rollout,
    ...present({ guard: waits ? guard : undefined }),
    ...(versionId === undefined ? {} : { desiredVersionId: versionId }),
  }
}

interface Begun {
  readonly request: NewRollout
  readonly before: DeploymentRecord
  /** When the window opens that it waits for; undefined: it does not wait. */
  readonly opening: { readonly at: string | null } | undefined
}

async function recordBegin(deps: RolloutRecorder, tx: Tx, { request, before, opening }: Begun): Promise<void> {
  const { key, id, action, versionId, startedBy, context, because } = request
  const { runningVersionId } = before
  const started = { outcome: 'running' as const, startedBy, startedAt: deps.now().toISOString() }
  const asked = { action, versionId, runningVersionId }
  const wanted = await versionToRun({ versions: createVersionStore(tx) }, key, asked)
  const shown = present({ versionId: wanted })
  await createDeploymentHistoryStore(tx).insert({ ...key, id, action, ...started, ...shown })
  await recordDeployment(deps, tx, {
    key,
    event: opening ? 'held' : 'started',
    action,
    context,
    outcome: 'begun',
    data: {
      rollout_id: id,
      version_id: wanted ?? null,
      running_version_id: runningVersionId ?? null,
      started_by: startedBy,
      ...(opening ? { opens_at: opening.at } : {}),
      ...(because === undefined ? {} : { reason: because }),
    },
  })
}

/** The error for a deployment whose rollout has not ended. */
export function rolloutInProgress({ definitionId, environment, rollout }: DeploymentRecord): DomainError {
  if (rollout && isWaiting({ rollout })) {
    const message = `a rollout of ${definitionId} in ${environment} waits for a window: override the window, or cancel the rollout with a rollback`
    return new DomainError('CONFLICT', message)
  }
  const phase = rollout ? ` (${rollout.action}, ${rollout.phase})` : ''
  const message = `a rollout of ${definitionId} in ${environment} is in progress${phase}: wait until it has ended`
  return new DomainError('CONFLICT', message, { retryAfterS: 5 })
}
