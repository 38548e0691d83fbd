import type { DeploymentAction } from '../../domain/deployments.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import {
  createDeploymentStore,
  type DeploymentRecord,
  placeKey,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { DeploymentServiceDeps, RolloutDeps } from './deployment-deps.ts'

/** A deployment with its rollout in progress. */
export interface RollingOut extends DeploymentRecord {
  readonly rollout: Rollout
}

/** The row was changed by another process: read it again. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

type Recorder = Pick<DeploymentServiceDeps, 'audit' | 'events'>

/** Something that happened to a deployment. */
export interface DeploymentChange {
  readonly key: Pick<DeploymentRecord, 'definitionId' | 'environment'>
  readonly event: 'held' | 'cancelled' | 'started' | 'finished' | 'rolled_back' | 'failed' | 'undeployed'
  readonly action: DeploymentAction
  /** Default: `deployment.` and the action. */
  readonly auditAction?: `deployment.${string}`
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  readonly outcome: 'begun' | 'done' | 'failed'
  readonly data: { readonly [key: string]: StoredJson }
  /** For the audit log only. */
  readonly details?: { readonly [key: string]: StoredJson }
}

/** Records a change of a deployment in the audit log and the event log, in its transaction. */
export async function recordDeployment({ audit, events }: Recorder, tx: Tx, change: DeploymentChange): Promise<void> {
  const { key, event, action, context, outcome } = change
  const objectId = placeKey(key)
  const data = { definition_id: key.definitionId, environment: key.environment, ...change.data }
  await audit.record(tx, {
    caller: context?.caller,
    requestId: context?.requestId,
    channel: context ? context.channel : 'system',
    action: change.auditAction ?? `deployment.${action}`,
    objectType: 'deployment',
    objectId,
    outcome,
    details: { ...data, ...change.details },
  })
  await events.append(tx, {
    type: `deployment.${event}`,
    objectType: 'deployment',
    objectId,
    data: { ...data, action },
  })
}

/** Writes the next phase of a rollout. Throws {@link Superseded} when this process may not, or no longer. */
export async function saveHeld(deps: RolloutDeps, tx: Tx, record: DeploymentRecord): Promise<void> {
  const changed = { ...record, updatedAt: deps.now().toISOString() }
  if (!(await createDeploymentStore(tx).save(changed, deps.instanceId))) {
    throw new Superseded(`the rollout of ${placeKey(record)} was changed by another process`)
  }
}

/** Who starts a rollout of a version that arrives. */
export const ON_ARRIVAL = 'on_arrival'

/** Who starts the rollback of a deployment that fails or falls behind. */
export const ROLLBACK_IF = 'rollback_if'

/** An object without its undefined members. */
export function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the filter leaves just these
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
