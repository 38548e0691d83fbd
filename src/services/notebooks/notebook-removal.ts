import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { lakeSecretName, sessionName } from '../../notebooks/notebook-names.ts'
import { SECRET_KEYS } from '../../notebooks/notebook-spec.ts'
import { isAbandoned } from '../../notebooks/pod-status.ts'
import { sessionOf } from '../../notebooks/notebook-targets.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/notebook-store.ts'
import type { NotebookDeps } from './notebook-deps.ts'
import { endToken } from './notebook-furnishing.ts'

/**
 * Why a notebook ends. `asked`: by its user. `replaced`: it had failed, and its user starts anew. `idle`: nothing was
 * done in it. `failed`, `ended`: it was of no use any more. `lost`: the cluster removed it.
 */
export type EndReason = 'asked' | 'replaced' | 'idle' | 'failed' | 'ended' | 'lost'

export interface Removal {
  readonly user: string
  /** Undefined when it is gone already. */
  readonly pod: ClusterPod | undefined
  /** What the state has of the user's notebook. */
  readonly session: NotebookSession | undefined
  readonly why: EndReason
  /** Who asks; undefined: the service itself. */
  readonly context?: RequestContext
}

/**
 * Ends a notebook: its token first, then the pod and what belongs to it, then its place in the state. It may be called
 * again, by another replica too, after it broke off anywhere. The pod may still be ending when this resolves.
 */
export async function removeNotebook(deps: NotebookDeps, removal: Removal): Promise<void> {
  const { pod, session, context } = removal
  const cluster = deps.gate.cluster()
  if (session?.tokenId !== undefined) await endToken(deps, session.tokenId, context)
  if (pod) {
    const [part, lake] = [sessionName(pod.name, sessionOf(pod)), lakeSecretName(pod.name, sessionOf(pod))]
    // After a start that broke off, the token may be in the notebook and not in the state.
    const tokenId = (await cluster.readSecret(lake))?.[SECRET_KEYS.lakeId]
    if (tokenId !== undefined && tokenId !== session?.tokenId) await endToken(deps, tokenId, context)
    await cluster.deletePod(pod.name, pod.uid)
    // The cluster would do it by itself, some time.
    await Promise.all([
      cluster.deleteService(part),
      cluster.deleteSecret(part),
      cluster.deleteSecret(lake),
      cluster.deleteConfigMap(part),
    ])
  }
  await forget(deps, removal)
}

/**
 * Takes the notebook out of the state and records its end. Of all who do this at the same time or again, on any
 * replica, one finds it there: `notebook.stopped` is told once.
 */
async function forget(deps: NotebookDeps, { user, pod, session, why, context }: Removal): Promise<void> {
  const id = session?.session ?? (pod && sessionOf(pod))
  if (id === undefined) return
  await deps.inTransaction(async (tx) => {
    const wasKnown = await createNotebookStore(tx).delete({ user, session: id })
    // A pod that a start left without a place in the state was never told of; that it is deleted is recorded all the same.
    const isStray = session === undefined && pod !== undefined && pod.deletedAt === undefined
    if (!wasKnown && !isStray) return
    const details = { session_id: id, reason: why }
    await deps.audit.record(tx, {
      ...(context ?? { caller: undefined, channel: 'system' }),
      action: 'notebook.stop',
      objectType: 'notebook',
      objectId: user,
      details,
    })
    if (!wasKnown) return
    await deps.events.append(tx, {
      type: 'notebook.stopped',
      objectType: 'notebook',
      objectId: id,
      data: details,
    })
  })
}

/**
 * Waits until a pod that is being deleted is gone. One whose node does not answer is taken out of the cluster by force:
 * nobody else would. A volume is safe from two pods: the cluster attaches it to one node at a time. Throws
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
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}
