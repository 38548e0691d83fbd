import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { isClusterError } from '../../notebooks/cluster-error.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { lakeCoordinates } from '../../notebooks/lake-coordinates.ts'
import { notebookName, SESSION_DIGITS } from '../../notebooks/names.ts'
import { notebookVolumeClaim } from '../../notebooks/objects.ts'
import { hostedNotebookPath } from '../../notebooks/path.ts'
import { notebookPod } from '../../notebooks/pod.ts'
import { ANNOTATIONS, type NotebookSpec } from '../../notebooks/spec.ts'
import { notebookState } from '../../notebooks/pod-status.ts'
import type { NotebookDeps } from './deps.ts'
import { provision } from './provisioning.ts'
import { removeNotebook, waitUntilGone } from './removal.ts'
import { endSession } from './sessions.ts'

/** Another request may start, stop or replace the pod between two reads. */
const MAX_ROUNDS = 5

/**
 * Makes sure that the caller has a notebook: the existing one, unless it has failed, or a new one. The pod's name is
 * unique to the user, so of any number of concurrent starts, on any replica, the cluster lets one create the pod; all
 * others find it.
 */
export async function startNotebook(deps: NotebookDeps, image: string, context: RequestContext): Promise<void> {
  const { user } = context.caller
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const pod = await findPod(deps, user)
    if (pod === undefined) {
      const made = await makePod(deps, image, user)
      if (made && (await provision(deps, made, context))) return
      continue
    }
    requireOwn(pod, user)
    if (pod.deletedAt === undefined) {
      if (isUsable(pod, deps) && (await provision(deps, pod, context))) return
      await removeNotebook(deps, { user, pod, why: 'replaced', context })
    }
    await waitUntilGone(deps, pod)
  }
  throw new DomainError('CLUSTER_UNAVAILABLE', 'the notebook is being started and stopped at the same time', {
    retryAfterS: 5,
  })
}

/**
 * The user's pod, also one that is ending. An earlier notebook whose pod something else deleted ends here: its token must
 * not outlive it.
 */
export async function findPod(deps: NotebookDeps, user: string): Promise<ClusterPod | undefined> {
  // The state first: a session is recorded after its pod was created, so a missing pod was deleted.
  const session = await deps.store.find(user)
  const pod = await deps.gate.cluster().getPod(notebookName(user))
  if (session && session.podUid !== pod?.uid) await endSession(deps, session, { why: 'lost' })
  return pod
}

/** Throws when the pod belongs to someone else: names cannot collide, so it was created outside of this service. */
export function requireOwn(pod: ClusterPod, user: string): void {
  if (pod.annotations[ANNOTATIONS.user] === user) return
  throw new DomainError('CLUSTER_REFUSED', 'the cluster has a pod of this name that is not a notebook of this user')
}

function isUsable(pod: ClusterPod, { now }: NotebookDeps): boolean {
  const { phase } = notebookState(pod, [], now().getTime())
  return phase === 'pending' || phase === 'running'
}

/** Undefined when a pod of that name already exists. */
async function makePod(deps: NotebookDeps, image: string, user: string): Promise<ClusterPod | undefined> {
  const cluster = deps.gate.cluster()
  const spec = specOf(deps, user)
  const claim = notebookVolumeClaim(spec)
  try {
    if (claim) await cluster.ensureVolumeClaim(claim)
    return await cluster.createPod(notebookPod(spec, image))
  } catch (error) {
    if (isClusterError(error, 'exists')) return undefined
    throw error
  }
}

function specOf(deps: NotebookDeps, user: string): NotebookSpec {
  const digits = deps.randomBytes(SESSION_DIGITS / 2)
  return {
    user,
    name: notebookName(user),
    session: Array.from(digits, (byte) => byte.toString(16).padStart(2, '0')).join(''),
    basePath: hostedNotebookPath(deps.basePath, user),
    settings: deps.settings,
    lake: lakeCoordinates(deps.catalog(), deps.podView),
  }
}
