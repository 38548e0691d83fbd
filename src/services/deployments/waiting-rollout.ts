import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { createEnvironmentStore } from '../../storage/stores/environment-store.ts'
import { createDeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import {
  createDeploymentStore,
  type DeploymentKey,
  type DeploymentRecord,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout, WaitingSince } from '../../storage/stores/deployments/rollout-record.ts'
import type { WindowOverride } from '../../storage/stores/window-override.ts'
import type { Tx } from '../../storage/transactions.ts'
import { isOpenNow, readRules } from '../environments/environment-rules.ts'
import type { DeploymentServiceDeps, RolloutDeps } from './deployment-deps.ts'
import { present, recordDeployment, type RollingOut, saveHeld } from './deployment-change.ts'

/** What records the begin and the end of rollouts. */
export type RolloutRecorder = Pick<DeploymentServiceDeps, 'audit' | 'events' | 'now'>

/** Whether a rollout waits for a window, and has changed nothing yet. */
export function isWaiting({ rollout }: Pick<DeploymentRecord, 'rollout'>): boolean {
  return rollout?.phase === 'waiting_for_window'
}

/** The deployment as it is, for a rollout that waits for a window. */
export function beforeOf({ state, desiredVersionId }: DeploymentRecord, reason: string | undefined): WaitingSince {
  const isRecorded = state !== 'rolling_out' && state !== 'waiting_for_window'
  return { state: isRecorded ? state : 'none', ...present({ reason, desiredVersionId }) }
}

/** The state of a deployment without a rollout that waits for a window. */
export function stateWithout({ state, rollout }: DeploymentRecord): DeploymentRecord['state'] {
  return rollout?.phase === 'waiting_for_window' ? (rollout.before?.state ?? 'none') : state
}

interface Cancellation {
  readonly record: DeploymentRecord
  readonly reason: string
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
}

/** A deployment without the rollout that waits, whose end is recorded; the same when none waits. The caller saves it. */
export async function withoutWaiting(
  deps: RolloutRecorder,
  tx: Tx,
  cancelled: Cancellation,
): Promise<DeploymentRecord> {
  const { record, reason, context } = cancelled
  const { rollout } = record
  if (rollout?.phase !== 'waiting_for_window') return record
  const { rollout: _, reason: __, desiredVersionId: ___, ...kept } = record
  const now = deps.now().toISOString()
  const history = createDeploymentHistoryStore(tx)
  await history.end(rollout.id, {
    outcome: 'cancelled',
    endedAt: now,
    reason,
    ...present({ versionId: rollout.versionId }),
  })
  await recordDeployment(deps, tx, {
    key: record,
    event: 'cancelled',
    action: rollout.action,
    auditAction: 'deployment.cancel',
    context,
    outcome: 'done',
    data: { rollout_id: rollout.id, version_id: rollout.versionId ?? null, reason },
  })
  const { state = 'none', ...before } = rollout.before ?? {}
  return { ...kept, ...before, state, updatedAt: now }
}

interface Override {
  readonly key: DeploymentKey
  readonly reason: string
  readonly rolloutId: string | undefined
  readonly context: RequestContext
}

/** Lets a rollout begin that waits for a window. Throws `CONFLICT` when none waits, or another one. */
export async function overrideWaiting(deps: DeploymentServiceDeps, override: Override): Promise<void> {
  const { key, reason, rolloutId, context } = override
  await deps.inTransaction(async (tx) => {
    const record = await createDeploymentStore(tx).find(key)
    const rollout = record?.rollout
    if (record === undefined || rollout?.phase !== 'waiting_for_window' || (rolloutId ?? rollout.id) !== rollout.id) {
      throw noLongerWaiting()
    }
    const now = deps.now()
    const granted: WindowOverride = { by: context.caller.user, reason, at: now.toISOString() }
    await createDeploymentHistoryStore(tx).setOverride(rollout.id, granted)
    const begun = begunNow(record, rollout, now)
    const saved = { ...begun, rollout: { ...begun.rollout, override: granted } }
    if (!(await createDeploymentStore(tx).save(saved))) throw noLongerWaiting()
    await recordBegin(deps, tx, { record, rollout, context, override: granted })
  })
  deps.wakeWorker()
}

/** The error for a rollout that was expected to wait for a window. */
export function noLongerWaiting(): DomainError {
  return new DomainError('CONFLICT', 'this rollout does not wait for a window: nothing was changed')
}

/** Lets a rollout begin whose window has opened; false when the window is closed. Throws `Superseded`. */
export function beginWhenOpen(deps: RolloutDeps, record: RollingOut): Promise<boolean> {
  return deps.inTransaction(async (tx) => {
    const rules = await readRules(createEnvironmentStore(tx), record.environment)
    if (!isOpenNow(rules, deps.now())) return false
    await saveHeld(deps, tx, begunNow(record, record.rollout, deps.now()))
    await recordBegin(deps, tx, { record, rollout: record.rollout, context: undefined, override: undefined })
    return true
  })
}

function begunNow(record: DeploymentRecord, waiting: Rollout, now: Date): RollingOut {
  const { guard: _, ...kept } = record
  const { before: __, ...rollout } = waiting
  const begun: Rollout = { ...rollout, phase: 'validating', phaseSinceMs: now.getTime() }
  return { ...kept, state: 'rolling_out', updatedAt: now.toISOString(), rollout: begun }
}

interface Begun {
  readonly record: DeploymentRecord
  readonly rollout: Rollout
  readonly context: RequestContext | undefined
  readonly override: WindowOverride | undefined
}

async function recordBegin(
  deps: RolloutRecorder,
  tx: Tx,
  { record, rollout, context, override }: Begun,
): Promise<void> {
  await recordDeployment(deps, tx, {
    key: record,
    event: 'started',
    action: rollout.action,
    ...(override === undefined ? {} : { auditAction: 'deployment.override_window' as const }),
    context,
    outcome: 'begun',
    data: {
      rollout_id: rollout.id,
      version_id: rollout.versionId ?? null,
      running_version_id: record.runningVersionId ?? null,
      started_by: rollout.startedBy,
      ...(override === undefined ? {} : { overridden_by: override.by }),
    },
    details: override === undefined ? {} : { override_reason: override.reason },
  })
}
