import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { lakeSecretName, sessionName } from '../../notebooks/names.ts'
import { SECRET_KEYS } from '../../notebooks/spec.ts'
import { isAbandoned } from '../../notebooks/pod-status.ts'
import { sessionOf } from '../../notebooks/targets.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/stores/notebooks/notebook-store.ts'
import type { NotebookDeps } from './deps.ts'
import { endToken } from './end-token.ts'
import { sleep } from '../../iceberg/sleep.ts'

/**
 * Why a notebook ends. `asked`: its user stopped it. `replaced`: it had failed, and its user starts a new one. `idle`:
 * it was not used. `failed`, `ended`: it no longer ran. `lost`: the cluster removed it.
 */
export type EndReason = 'asked' | 'replaced' | 'idle' | 'failed' | 'ended' | 'lost'

export interface Removal {
  readonly user: string
  /** Undefined when it is already gone. */
  readonly pod: ClusterPod | undefined
  /** The user's notebook as recorded in the state. */
  readonly session: NotebookSession | undefined
  readonly why: EndReason
  /** Who requests it; undefined: the service itself. */
  readonly context?: RequestContext
}

/**
 * Ends a notebook: first its token, then the pod and its parts, then its record in the state. It can be called again
 * after an interruption at any point, also by another replica. The pod may still be terminating when this resolves.
 */
export async function removeNotebook(deps: NotebookDeps, removal: Removal): Promise<void> {
  const { pod, session, context } = removal
  const cluster = deps.gate.cluster()
  if (session?.tokenId !== undefined) await endToken(deps, session.tokenId, context)
  if (pod) {
    const [part, lake] = [sessionName(pod.name, sessionOf(pod)), lakeSecretName(pod.name, sessionOf(pod))]
    // After an interrupted start, the token may be in the notebook but not in the state.
    const tokenId = (await cluster.readSecret(lake))?.[SECRET_KEYS.lakeId]
    if (tokenId !== undefined && tokenId !== session?.tokenId) await endToken(deps, tokenId, context)
    await cluster.deletePod(pod.name, pod.uid)
    // The cluster would delete them too, but at some later time.
    await Promise.all([
      cluster.deleteService(part),
      cluster.deleteSecret(part),
      cluster.deleteSecret(lake),
      cluster.deleteConfigMap(part),
    ])
  }
  const forgotten = await forget(deps, removal)
  // A start in another process may have recorded its token since the record was read.
  const late = forgotten?.tokenId
  if (late !== undefined && late !== session?.tokenId) await endToken(deps, late, context)
}

/**
 * Removes the notebook from the state, records its end, and returns what was removed. Of all callers, at any time and on any replica, only one
 * finds it there, so `notebook.stopped` is logged once.
 */
async function forget(
  deps: NotebookDeps,
  { user, pod, session, why, context }: Removal,
): Promise<NotebookSession | undefined> {
  const id = session?.session ?? (pod && sessionOf(pod))
  if (id === undefined) return undefined
  return deps.inTransaction(async (tx) => {
    const known = await createNotebookStore(tx).delete({ user, session: id })
    // A pod that an interrupted start left unrecorded was never announced; its deletion is recorded nevertheless.
    const isStray = session === undefined && pod !== undefined && pod.deletedAt === undefined
    if (known === undefined && !isStray) return undefined
    const details = { session_id: id, reason: why }
    await deps.audit.record(tx, {
      ...(context ?? { caller: undefined, channel: 'system' }),
      action: 'notebook.stop',
      objectType: 'notebook',
      objectId: user,
      details,
    })
    if (known === undefined) return undefined
    await deps.events.append(tx, {
      type: 'notebook.stopped',
      objectType: 'notebook',
      objectId: id,
      data: details,
    })
    return known
  })
}

/**
 * Waits until a pod that is being deleted is gone. A pod whose node does not respond is force-deleted: nothing else
 * would remove it. Two pods cannot use its volume: the cluster attaches a volume to one node at a time. Throws
 * `CLUSTER_TIMEOUT` when it takes too long.
 */
export async function waitUntilGone(deps: NotebookDeps, { name, uid }: ClusterPod): Promise<void> {
  const until = performance.now() + deps.waits.goneMs
  for (let delayMs = deps.waits.pollMs; ; delayMs = Math.min(delayMs * 2, 1000)) {
    const pod = await deps.gate.cluster().getPod(name)
    if (pod?.uid !== uid) return
    if (isAbandoned(pod, deps.now().getTime())) await deps.gate.cluster().deletePod(name, uid, { force: true })
    if (performance.now() + delayMs > until) {
      throw new DomainError('CLUSTER_TIMEOUT', 'the notebook is being stopped, but its pod does not end', {
        retryAfterS: 10,
      })
    }
    await sleep(delayMs)
  }
}
