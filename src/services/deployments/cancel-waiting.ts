import type { RequestContext } from '../../domain/audit.ts'
import { createDeploymentStore, type DeploymentKey } from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { DeploymentServiceDeps } from './deployment-deps.ts'
import { beginQueued } from './queued-rollout.ts'
import { noLongerWaiting, withoutWaiting } from './waiting-rollout.ts'

/**
 * Cancels a rollout that waits for a window, on request; what was queued behind it comes next. Throws `CONFLICT` when it no
 * longer waits.
 */
export async function cancelWaiting(
  deps: DeploymentServiceDeps,
  rollout: Rollout,
  { key, context }: { readonly key: DeploymentKey; readonly context: RequestContext },
): Promise<void> {
  await deps.inTransaction(async (tx) => {
    const deployments = createDeploymentStore(tx)
    const record = await deployments.find(key)
    if (record?.rollout?.id !== rollout.id || record.rollout.phase !== 'waiting_for_window') throw noLongerWaiting()
    const reason = `cancelled by ${context.caller.user} while it waited for a window`
    if (!(await deployments.save(await withoutWaiting(deps, tx, { record, reason, context })))) throw noLongerWaiting()
    await beginQueued(deps, tx, { ...key, rollout: record.rollout })
  })
  deps.wakeWorker()
}
