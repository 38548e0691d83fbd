import { type Loop, startLoop } from '../../lib/start-loop.ts'
import { createDeploymentStore, type DeploymentRecord } from '../../storage/stores/deployments/deployment-store.ts'
import type { DeploymentGuard } from '../../storage/stores/deployments/rollout-record.ts'
import { namedLease, type NamedLeaseDeps } from '../../storage/stores/lease-store.ts'
import { createPipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import { createEnvironmentStore } from '../../storage/stores/environment-store.ts'
import { readRules } from '../environments/environment-rules.ts'
import type { Logger } from '../logger.ts'
import { beginRollout } from './begin-rollout.ts'
import { ROLLBACK_IF } from './deployment-change.ts'
import type { DeploymentServiceDeps } from './deployment-deps.ts'
import { guardedUntil, isUntouched, rollbackBecause } from './rollback-guard.ts'
import { isWaiting, stateWithout } from './waiting-rollout.ts'

export interface GuardDeps extends Omit<DeploymentServiceDeps, 'plans'>, NamedLeaseDeps {
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Between two looks at guarded deployments, ms; shortened in tests. */
  readonly guardTickMs?: number | undefined
}

const TICK_MS = 2000
const LEASE_MS = 60_000
/** The longest `within`: a guard without a rule is kept as long, because a rule may still be set. */
const LONGEST_WATCH_MS = 7 * 86_400_000

/**
 * Rolls back deployments by the `rollback_if` of their environments, as it is now. The guard of a deployment ends in the
 * transaction in which its rollback begins, and a rollback has no guard, so that nothing is rolled back twice.
 */
export function watchGuards(deps: GuardDeps): Loop {
  return startLoop({
    everyMs: deps.guardTickMs ?? TICK_MS,
    lease: namedLease(deps, 'deployment-guards', LEASE_MS),
    async tick(signal) {
      for (const { definitionId, environment } of await deps.deployments.listGuarded()) {
        if (signal.aborted) return
        const begun = await deps.inTransaction(async (tx) => {
          const record = await createDeploymentStore(tx).find({ definitionId, environment })
          return record?.guard !== undefined && (await judge(deps, tx, { ...record, guard: record.guard }))
        })
        if (begun) deps.wakeWorker()
      }
    },
    onError: (error) => deps.log.warn('deployments could not be watched', { error }),
  })
}

interface Guarded extends DeploymentRecord {
  readonly guard: DeploymentGuard
}

/** Begins the rollback of a deployment whose rule asks for it; true if it did. */
async function judge(deps: GuardDeps, tx: Tx, record: Guarded): Promise<boolean> {
  const { guard, environment, definitionId } = record
  const { rollbackIf } = await readRules(createEnvironmentStore(tx), environment)
  const nowMs = deps.now().getTime()
  const untilMs = rollbackIf === null ? guard.sinceMs + LONGEST_WATCH_MS : guardedUntil(guard, rollbackIf)
  const pipeline = await createPipelineStore(tx).find(guard.pipelineId)
  if (nowMs > untilMs || pipeline === undefined || !isUntouched(guard, pipeline)) {
    await createDeploymentStore(tx).endGuard(record)
    return false
  }
  const because = rollbackIf === null ? undefined : rollbackBecause(guard, rollbackIf, pipeline)
  // a rollout that waits for a window gives way: what runs is harmful now
  const isRollingOut = record.rollout !== undefined && !isWaiting(record)
  if (because === undefined || isRollingOut || stateWithout(record) !== 'in_sync') return false
  await beginRollout(deps, tx, {
    key: { definitionId, environment },
    id: deps.newId('dep'),
    action: 'rollback',
    versionId: guard.previousVersionId,
    checkpoint: 'continue',
    fingerprint: undefined,
    startedBy: ROLLBACK_IF,
    context: undefined,
    isNow: true,
    because,
  })
  deps.log.info('a deployment is rolled back by itself', { definition_id: definitionId, environment, reason: because })
  return true
}
