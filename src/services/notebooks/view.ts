import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { notebookName } from '../../notebooks/names.ts'
import { hostedNotebookPath } from '../../notebooks/path.ts'
import { notebookState, whyGone } from '../../notebooks/pod-status.ts'
import type { NotebookStatus } from '../../schemas/notebooks.ts'
import type { NotebookSession } from '../../storage/stores/notebooks/notebook-store.ts'
import type { NotebookDeps } from './deps.ts'
import { requireOwn } from './start.ts'

/** The current status of a user's notebook, read from the cluster. */
export async function notebookStatus(deps: NotebookDeps, user: string): Promise<NotebookStatus> {
  const [pod, session] = await Promise.all([deps.gate.cluster().getPod(notebookName(user)), deps.store.find(user)])
  if (!pod) {
    const reason =
      session && whyGone(deps.lastSeen(session.podUid), await eventsOf(deps, session.podName, session.podUid))
    return view(deps, user, { status: 'not_found', reason })
  }
  requireOwn(pod, user)
  const nowMs = deps.now().getTime()
  const alone = notebookState(pod, [], nowMs)
  const state = alone.phase === 'running' ? alone : notebookState(pod, await eventsOf(deps, pod.name, pod.uid), nowMs)
  const stopsAt = state.phase === 'running' ? ownSession(session, pod)?.stopsAt : undefined
  return view(deps, user, {
    status: state.phase,
    reason: stopsAt === undefined ? state.reason : `it is idle and will be stopped at ${stopsAt}`,
    started_at: state.startedAt,
    last_activity: ownSession(session, pod)?.activeAt,
    expires_at: stopsAt,
    session_id: ownSession(session, pod)?.session,
  })
}

/** Events of one pod; they only explain a status, so failing to read them is not an error. */
async function eventsOf({ gate, log }: NotebookDeps, name: string, uid: string) {
  try {
    const events = await gate.cluster().podEvents(name)
    return events.filter(({ podUid }) => podUid === uid)
  } catch (error) {
    log.debug('the events of a notebook could not be read', { pod: name, error })
    return []
  }
}

function ownSession(session: NotebookSession | undefined, pod: ClusterPod): NotebookSession | undefined {
  return session?.podUid === pod.uid ? session : undefined
}

type Parts = { readonly status: NotebookStatus['status'] } & {
  readonly [K in Exclude<keyof NotebookStatus, 'status' | 'user_id' | 'url'>]?: NotebookStatus[K] | undefined
}

/** Unknown values are left out. */
function view({ basePath }: NotebookDeps, user: string, parts: Parts): NotebookStatus {
  const known = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
  return { status: parts.status, user_id: user, url: hostedNotebookPath(basePath, user), ...known }
}
