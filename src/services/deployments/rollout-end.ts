import type { DeploymentAction, DeploymentOutcome, RecordedState } from '../../domain/deployments.ts'
import { createDeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import {
  createDeploymentStore,
  type DeploymentRecord,
  placeKey,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { createVersionStore } from '../../storage/stores/version-store.ts'
import { versionToRun } from './candidates.ts'
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
  readonly event: 'started' | 'finished' | 'rolled_back' | 'failed' | 'undeployed'
  readonly action: DeploymentAction
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  readonly outcome: 'begun' | 'done' | 'failed'
  readonly data: { readonly [key: string]: StoredJson }
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
    action: `deployment.${action}`,
    objectType: 'deployment',
    objectId,
    outcome,
    details: data,
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

/** How a rollout ended. */
export interface RolloutEnd {
  readonly record: RollingOut
  readonly state: Exclude<RecordedState, 'rolling_out'>
  readonly outcome: Exclude<DeploymentOutcome, 'running'>
  readonly desiredVersionId: string | undefined
  readonly runningVersionId: string | undefined
  readonly pipelineId: string | undefined
  readonly reason: string | undefined
}

/** Ends a rollout in its transaction; what was queued meanwhile starts. */
export async function endRollout(deps: RolloutDeps, tx: Tx, end: RolloutEnd): Promise<void> {
  const { record, state, desiredVersionId, runningVersionId, pipelineId, reason } = end
  const wanted = wantedVersion(record)
  await endHistory(deps, tx, end)
  const queued = queuedRollout(deps, record.rollout)
  if (queued) await insertQueued(deps, tx, { record, queued, runningVersionId })
  const { definitionId, environment, revision, basis } = record
  await saveHeld(deps, tx, {
    definitionId,
    environment,
    revision,
    updatedAt: record.updatedAt,
    state: queued ? 'rolling_out' : state,
    ...present({ basis, desiredVersionId, runningVersionId, pipelineId, reason, rollout: queued }),
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

interface Queued {
  readonly record: RollingOut
  readonly queued: Rollout
  readonly runningVersionId: string | undefined
}

async function insertQueued(deps: RolloutDeps, tx: Tx, { record, queued, runningVersionId }: Queued): Promise<void> {
  const { definitionId, environment } = record
  const { id, action, startedBy } = queued
  const started = { startedBy, startedAt: deps.now().toISOString(), outcome: 'running' as const }
  const shown = present({
    versionId: await versionToRun({ versions: createVersionStore(tx) }, record, { action, runningVersionId }),
  })
  await createDeploymentHistoryStore(tx).insert({ definitionId, environment, id, action, ...started, ...shown })
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

function queuedRollout(deps: RolloutDeps, { queued }: Rollout): Rollout | undefined {
  if (queued === undefined) return undefined
  return {
    id: deps.newId('dep'),
    action: queued,
    phase: 'validating',
    checkpoint: 'continue',
    startedBy: ON_ARRIVAL,
    phaseSinceMs: deps.now().getTime(),
  }
}

/** Who starts a rollout that no user asked for. */
export const ON_ARRIVAL = 'on_arrival'

/** An object without its undefined members. */
export function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the filter leaves just these
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
