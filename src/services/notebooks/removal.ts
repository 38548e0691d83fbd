import { DomainError } from '../../domain/errors.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { lakeSecretName, sessionName } from '../../notebooks/names.ts'
import { isAbandoned } from '../../notebooks/pod-status.ts'
import { sessionOf } from '../../notebooks/targets.ts'
import type { NotebookDeps } from './deps.ts'
import { endSession, type SessionEnd } from './sessions.ts'
import { sleep } from '../../lib/sleep.ts'

/** Whose pod to remove, and why. */
export interface Removal extends SessionEnd {
  readonly user: string
  readonly pod: ClusterPod
}

/**
 * Ends a notebook: first its session with its tokens, then the pod and its parts. It can be called again after an
 * interruption at any point, also by another replica. The pod may still be terminating when this resolves.
 */
export async function removeNotebook(deps: NotebookDeps, { user, pod, ...reason }: Removal): Promise<void> {
  const cluster = deps.gate.cluster()
  const session = sessionOf(pod)
  await endSession(deps, { user, session }, reason)
  await cluster.deletePod(pod.name, pod.uid)
  const part = sessionName(pod.name, session)
  // The cluster would delete them too, but at some later time.
  await Promise.all([
    cluster.deleteService(part),
    cluster.deleteSecret(part),
    cluster.deleteSecret(lakeSecretName(pod.name, session)),
    cluster.deleteConfigMap(part),
  ])
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
