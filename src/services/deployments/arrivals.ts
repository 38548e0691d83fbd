import { isRunEnvironment } from '../../domain/deployments.ts'
import { type Environment, ENVIRONMENTS, type RunEnvironment } from '../../domain/environments.ts'
import { type Loop, startLoop } from '../../lib/start-loop.ts'
import {
  createDeploymentStore,
  type DeploymentKey,
  type DeploymentRecord,
} from '../../storage/stores/deployments/deployment-store.ts'
import type { Rollout } from '../../storage/stores/deployments/rollout-record.ts'
import { createSettingsStore, type Setting } from '../../storage/stores/settings-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { EventFeed, EventView } from '../events/event-feed.ts'
import type { Logger } from '../logger.ts'
import { beginRollout } from './begin-rollout.ts'
import type { DeploymentServiceDeps } from './deployment-deps.ts'
import { ON_ARRIVAL } from './deployment-change.ts'
import { isWaiting } from './waiting-rollout.ts'

export interface ArrivalDeps extends Omit<DeploymentServiceDeps, 'plans'> {
  readonly feed: Pick<EventFeed, 'follow' | 'lastSeq'>
  readonly log: Pick<Logger, 'warn'>
}

/** The event up to which everything was done; stored with what was done. */
const CURSOR = 'deployments.arrivals'
const RETRY_MS = 1000

/**
 * Deploys versions that arrive in an environment whose deploy mode is `on_arrival`. Follows the event log: an event and its
 * effects are one transaction with the cursor, so that each event takes effect once, also with several processes and after
 * a crash.
 */
export function followArrivals(deps: ArrivalDeps): Loop {
  return startLoop({
    everyMs: RETRY_MS,
    async tick(signal) {
      const since = await firstSeq(deps)
      for await (const event of deps.feed.follow(since, signal)) {
        const move = moveOf(event)
        if (move) await handle(deps, event.seq, move)
      }
    },
    onError: (error) => deps.log.warn('versions that arrived could not be deployed yet', { error }),
  })
}

/** The stored cursor; the first start begins with what happens from then on. */
async function firstSeq({ inTransaction, feed, now }: ArrivalDeps): Promise<number> {
  const last = await feed.lastSeq()
  return inTransaction(async (tx) => {
    const settings = createSettingsStore(tx)
    const known = await settings.get(CURSOR)
    if (known) return seqOf(known)
    await settings.set(CURSOR, { seq: last }, { expectedRevision: 0, now: now() })
    return last
  })
}

function seqOf({ value }: Setting): number {
  const seq: unknown = typeof value === 'object' && value !== null && 'seq' in value ? value.seq : undefined
  return typeof seq === 'number' ? seq : 0
}

/** A version that left an environment for another. */
interface Move {
  readonly definitionId: string
  readonly versionId: string
  readonly from: Environment
  readonly to: Environment
}

/** The move that an event reports; undefined for all other events. */
function moveOf({ type, object_id: objectId, data }: EventView): Move | undefined {
  if (type !== 'version.moved' && type !== 'approval.approved') return undefined
  const { definition_id: definitionId, from_environment: from, to_environment: to } = data
  const versionId = type === 'version.moved' ? objectId : data['version_id']
  if (typeof definitionId !== 'string' || typeof versionId !== 'string') return undefined
  return isEnvironment(from) && isEnvironment(to) ? { definitionId, versionId, from, to } : undefined
}

function isEnvironment(name: unknown): name is Environment {
  return ENVIRONMENTS.some((one) => one === name)
}

async function handle(deps: ArrivalDeps, seq: number, move: Move): Promise<void> {
  const changes = await changesOf(deps, move)
  const isHandled = await deps.inTransaction(async (tx) => {
    const settings = createSettingsStore(tx)
    const cursor = await settings.get(CURSOR)
    if (cursor === undefined || seqOf(cursor) >= seq) return false
    for (const change of changes) await apply(deps, tx, change)
    await settings.set(CURSOR, { seq }, { expectedRevision: cursor.revision, now: deps.now() })
    return true
  })
  if (isHandled && changes.length > 0) deps.wakeWorker()
}

interface Change {
  readonly key: DeploymentKey
  readonly action: 'deploy' | 'undeploy'
  /** Whether it takes a version out, and does not wait for a window. */
  readonly isNow: boolean
}

/**
 * What follows from a move: a deployment where the version arrived, if the environment wants that; and where it was
 * withdrawn and runs, always another one, or none.
 */
async function changesOf(deps: ArrivalDeps, move: Move): Promise<readonly Change[]> {
  const { definitionId, from, to } = move
  const isForward = ENVIRONMENTS.indexOf(to) > ENVIRONMENTS.indexOf(from)
  const changes: Change[] = []
  if (isForward && isRunEnvironment(to) && (await isOnArrival(deps, to))) {
    changes.push({ key: { definitionId, environment: to }, action: 'deploy', isNow: false })
  }
  const isWithdrawn = !isForward || to === 'retired'
  if (isWithdrawn && isRunEnvironment(from)) {
    const key = { definitionId, environment: from }
    if (await isDeployed(deps, key, move.versionId)) {
      changes.push({ key, action: await instead(deps, key, to), isNow: true })
    }
  }
  return changes
}

async function isOnArrival({ settings }: ArrivalDeps, environment: RunEnvironment): Promise<boolean> {
  return (await settings(environment)).deploy === 'on_arrival'
}

/** Whether a version runs, or will when a rollout has ended. One that only waits for a window, or failed to start, does not. */
async function isDeployed({ deployments }: ArrivalDeps, key: DeploymentKey, versionId: string): Promise<boolean> {
  const record = await deployments.find(key)
  if (record === undefined) return false
  const { runningVersionId, desiredVersionId, rollout } = record
  const isStarting = rollout !== undefined && !isWaiting(record)
  if (isStarting && [rollout.versionId, rollout.planned?.pipeline.versionId].includes(versionId)) return true
  return (runningVersionId ?? desiredVersionId) === versionId
}

/** A retired version ends the deployment; a demoted one gives way to the newest that remains. */
async function instead({ stores }: ArrivalDeps, key: DeploymentKey, to: Environment): Promise<Change['action']> {
  if (to === 'retired') return 'undeploy'
  return (await stores.versions.newestIn(key.definitionId, key.environment)) ? 'deploy' : 'undeploy'
}

/**
 * Begins a rollout, or leaves it to the one in progress. A rollout that waits for a window gives way to one that takes a
 * version out; otherwise it comes first, and needs no other when it runs the newest version anyway.
 */
async function apply(deps: ArrivalDeps, tx: Tx, { key, action, isNow }: Change): Promise<void> {
  const deployments = createDeploymentStore(tx)
  const known = await deployments.find(key)
  if (known?.rollout && !(isNow && isWaiting(known))) {
    const queued = withQueued(known, known.rollout, { action, isNow })
    if (queued) await deployments.save({ ...queued, updatedAt: deps.now().toISOString() })
    return
  }
  if (action === 'undeploy' && (known === undefined || known.state === 'none')) return
  await beginRollout(deps, tx, {
    key,
    id: deps.newId('dep'),
    action,
    versionId: undefined,
    checkpoint: 'continue',
    fingerprint: undefined,
    startedBy: ON_ARRIVAL,
    context: undefined,
    isNow,
  })
}

/** A deployment that does more after its rollout; undefined when the rollout waits and runs the newest version anyway. */
function withQueued(
  record: DeploymentRecord,
  current: Rollout,
  { action, isNow }: Pick<Change, 'action' | 'isNow'>,
): DeploymentRecord | undefined {
  const { isQueuedNow: _, ...rollout } = current
  if (isWaiting(record) && rollout.versionId === undefined) return undefined
  return { ...record, rollout: { ...rollout, queued: action, ...(isNow ? { isQueuedNow: true } : {}) } }
}
