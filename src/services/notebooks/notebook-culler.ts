import { idleVerdict } from '../../notebooks/idle-rule.ts'
import type { ActivityReader } from '../../notebooks/notebook-activity.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { notebookBasePath } from '../../notebooks/notebook-path.ts'
import { ANNOTATIONS } from '../../notebooks/notebook-spec.ts'
import { sessionOf, type TargetFinder } from '../../notebooks/notebook-targets.ts'
import { isAbandoned, notebookState } from '../../notebooks/pod-status.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/notebook-store.ts'
import type { TableLock } from '../table-lock.ts'
import type { NotebookDeps } from './notebook-deps.ts'
import { type EndReason, removeNotebook } from './notebook-removal.ts'
import type { Touches } from './notebook-touches.ts'

export interface CullerDeps extends NotebookDeps {
  readonly targets: TargetFinder
  readonly readActivity: ActivityReader
  readonly touches: Touches
  /** Keeps what changes one user's notebook apart. */
  readonly lock: TableLock
  readonly everyMs: number
}

/** Stops notebooks that nobody uses, and tidies up after those that are gone. */
export interface NotebookCuller {
  start(): void
  /** Looks at all notebooks once. */
  pass(): Promise<void>
  close(): Promise<void>
}

/** So many notebooks are asked at the same time. */
const AT_ONCE = 10

/**
 * A culler. Every replica runs one, and all may look at the same notebook: what they do to it is done once, for the
 * state decides who announces and who removes.
 */
export function createNotebookCuller(deps: CullerDeps): NotebookCuller {
  let timer: ReturnType<typeof setInterval> | undefined
  let passing: Promise<void> | undefined
  const pass = (): Promise<void> => (passing ??= lookAtAll(deps).finally(() => (passing = undefined)))
  return {
    start() {
      const report = (error: unknown): void => deps.log.warn('idle notebooks could not be looked for', { error })
      timer = setInterval(() => {
        if (deps.gate.available()) pass().catch(report)
      }, deps.everyMs)
    },
    pass,
    async close() {
      clearInterval(timer)
      await passing?.catch(() => undefined)
    },
  }
}

async function lookAtAll(deps: CullerDeps): Promise<void> {
  await deps.touches.flush()
  // In this order: a notebook is in the state only after its pod is in the cluster.
  const sessions = new Map((await deps.store.list()).map((session) => [session.user, session]))
  const { pods } = await deps.gate.cluster().listPods()
  const owned = new Map(pods.map((pod) => [ownerOf(pod), pod]))
  const users = [...new Set([...sessions.keys(), ...owned.keys()])].filter((user) => user !== undefined)
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let user = users.shift(); user !== undefined; user = users.shift()) {
      await lookAt(deps, { user, pod: owned.get(user), known: sessions.get(user) })
    }
  })
  await Promise.all(workers)
}

/** One user's notebook, as the cluster and the state have it. */
interface Found {
  readonly user: string
  readonly pod: ClusterPod | undefined
  readonly known: NotebookSession | undefined
}

function ownerOf(pod: ClusterPod): string | undefined {
  return pod.annotations[ANNOTATIONS.user]
}

/** One user's notebook; one that cannot be dealt with does not keep the others from it. */
async function lookAt(deps: CullerDeps, found: Found): Promise<void> {
  try {
    await deps.lock.run(found.user, new AbortController().signal, () => judge(deps, found))
  } catch (error) {
    deps.log.warn('a notebook could not be looked after', { user: found.user, error })
  }
}

async function judge(deps: CullerDeps, { user, pod, known }: Found): Promise<void> {
  if (pod?.deletedAt !== undefined) {
    if (known?.podUid !== pod.uid || !isAbandoned(pod, deps.now().getTime())) return
    // Its node may be gone for good: the token ends now, the pod when the node says so or its user asks.
    return removeNotebook(deps, { user, pod: undefined, session: known, why: 'lost' })
  }
  if (known && known.podUid !== pod?.uid) {
    await removeNotebook(deps, { user, pod: undefined, session: known, why: 'lost' })
  }
  if (!pod) return
  const session = known?.podUid === pod.uid ? known : await adopt(deps, user, pod)
  const { phase } = notebookState(pod, [], deps.now().getTime())
  const why = phase === 'running' ? await whyIdle(deps, pod, session) : whyUseless(deps, pod, phase)
  if (why !== undefined) await removeNotebook(deps, { user, pod, session, why })
}

/** A pod that a start left without a place in the state gets one, or nothing would ever end it. */
async function adopt(deps: CullerDeps, user: string, pod: ClusterPod): Promise<NotebookSession> {
  return deps.inTransaction(async (tx) => {
    const store = createNotebookStore(tx)
    const known = await store.find(user)
    if (known?.podUid === pod.uid) return known
    const startedAt = pod.createdAt ?? deps.now().toISOString()
    const session = {
      user,
      session: sessionOf(pod),
      podName: pod.name,
      podUid: pod.uid,
      startedAt,
      activeAt: startedAt,
    }
    if (!known) await store.put(session)
    return session
  })
}

/** A notebook that does not run is kept for as long as an idle one, so that its user can see why. */
function whyUseless(deps: CullerDeps, pod: ClusterPod, phase: string): EndReason | undefined {
  if (phase === 'not_found') return 'ended'
  const ageMs = deps.now().getTime() - Date.parse(pod.createdAt ?? '')
  return ageMs > deps.settings.idleMs ? 'failed' : undefined
}

async function whyIdle(deps: CullerDeps, pod: ClusterPod, session: NotebookSession): Promise<EndReason | undefined> {
  const nowMs = deps.now().getTime() // what the notebook says is judged by when it was asked
  const target = await deps.targets.ofPod(pod)
  const activity = target && (await deps.readActivity(target, notebookBasePath(session.user)))
  // A notebook that does not say whether it is busy may be.
  if (!activity) return undefined
  const { busy } = activity
  const seenAt = new Date(busy ? nowMs : (activity.lastMs ?? 0)).toISOString()
  if (seenAt > session.activeAt) await deps.inTransaction((tx) => createNotebookStore(tx).touch(session, seenAt))
  // Read again: something may have been done through another replica while the notebook was asked.
  const current = await deps.store.find(session.user)
  if (current?.session !== session.session) return undefined
  const stopsMs = current.stopsAt === undefined ? undefined : Date.parse(current.stopsAt)
  const verdict = idleVerdict({ nowMs, busy, activeMs: Date.parse(current.activeAt), stopsMs }, deps.settings)
  if (verdict.do === 'announce') {
    const stopsMs = Math.max(verdict.stopsMs, deps.now().getTime() + deps.settings.warningMs)
    await announce(deps, current, new Date(stopsMs).toISOString())
  }
  return verdict.do === 'stop' ? 'idle' : undefined
}

/** Tells that a notebook will be stopped: once, whichever replica comes first. */
async function announce(deps: CullerDeps, session: NotebookSession, stopsAt: string): Promise<void> {
  await deps.inTransaction(async (tx) => {
    if (!(await createNotebookStore(tx).announceStop(session, stopsAt))) return
    await deps.events.append(tx, {
      type: 'notebook.idle',
      objectType: 'notebook',
      objectId: session.session,
      data: { session_id: session.session, last_activity: session.activeAt, expires_at: stopsAt },
    })
  })
}
