import { type Loop, startLoop } from '../../lib/start-loop.ts'
import { idleVerdict } from '../../notebooks/idle-rule.ts'
import type { ActivityReader } from '../../notebooks/activity.ts'
import type { ClusterPod } from '../../notebooks/cluster-pod.ts'
import { hostedNotebookPath } from '../../notebooks/path.ts'
import { ANNOTATIONS } from '../../notebooks/spec.ts'
import type { TargetFinder } from '../../notebooks/targets.ts'
import { isAbandoned, notebookState } from '../../notebooks/pod-status.ts'
import { createNotebookStore, type NotebookSession } from '../../storage/stores/notebooks/notebook-store.ts'
import type { KeyedLock } from '../../lib/keyed-lock.ts'
import type { NotebookDeps } from './deps.ts'
import { removeNotebook } from './removal.ts'
import { type EndReason, endSession, recordSession } from './sessions.ts'
import type { Touches } from './touches.ts'

export interface CullerDeps extends NotebookDeps {
  readonly targets: TargetFinder
  readonly readActivity: ActivityReader
  readonly touches: Touches
  /** Serializes changes of one user's notebook. */
  readonly lock: KeyedLock
  readonly everyMs: number
}

/** How many notebooks are checked at the same time. */
const AT_ONCE = 10

/**
 * Regularly stops idle notebooks, and cleans up after notebooks that are gone. Every replica does it, and several may check
 * the same notebook: each action still happens once, because the state database decides which replica announces and which
 * removes.
 */
export function cullNotebooks(deps: CullerDeps): Loop {
  const { gate, everyMs, log } = deps
  return startLoop({
    everyMs,
    firstMs: everyMs,
    async tick() {
      if (gate.available()) await checkAll(deps)
    },
    onError: (error) => log.warn('idle notebooks could not be checked', { error }),
  })
}

async function checkAll(deps: CullerDeps): Promise<void> {
  await deps.touches.flush()
  // Read the state first: a notebook is recorded there only after its pod exists in the cluster.
  const sessions = new Map((await deps.store.list()).map((session) => [session.user, session]))
  const { pods } = await deps.gate.cluster().listPods()
  const owned = new Map(pods.map((pod) => [ownerOf(pod), pod]))
  const users = [...new Set([...sessions.keys(), ...owned.keys()])].filter((user) => user !== undefined)
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let user = users.shift(); user !== undefined; user = users.shift()) {
      await checkOne(deps, { user, pod: owned.get(user), known: sessions.get(user) })
    }
  })
  await Promise.all(workers)
}

/** One user's notebook, in the cluster and in the state. */
interface Found {
  readonly user: string
  readonly pod: ClusterPod | undefined
  readonly known: NotebookSession | undefined
}

function ownerOf(pod: ClusterPod): string | undefined {
  return pod.annotations[ANNOTATIONS.user]
}

/** Checks one user's notebook; a failure does not affect the others. */
async function checkOne(deps: CullerDeps, found: Found): Promise<void> {
  try {
    await deps.lock.run(found.user, new AbortController().signal, () => applyIdleRule(deps, found))
  } catch (error) {
    deps.log.warn('a notebook could not be checked', { user: found.user, error })
  }
}

async function applyIdleRule(deps: CullerDeps, { user, pod, known }: Found): Promise<void> {
  if (pod?.deletedAt !== undefined) return endAbandoned(deps, { user, pod, known })
  const isLost = known !== undefined && known.podUid !== pod?.uid
  if (isLost) await endSession(deps, known, { why: 'lost' })
  if (!pod) return
  const session = isLost ? undefined : known
  if (session === undefined && isNew(pod, deps)) return
  const why = await reasonToEnd(deps, pod, session ?? (await recordStray(deps, user, pod)))
  if (why !== undefined) await removeNotebook(deps, { user, pod, why })
}

/** How long after its creation a pod is left to its start, in ms: the start records it at once. */
const NEW_MS = 60_000

function isNew(pod: ClusterPod, { now }: CullerDeps): boolean {
  return now().getTime() - Date.parse(pod.createdAt ?? '') < NEW_MS
}

async function reasonToEnd(
  deps: CullerDeps,
  pod: ClusterPod,
  session: NotebookSession | undefined,
): Promise<EndReason | undefined> {
  if (session === undefined) return 'ended'
  const { phase } = notebookState(pod, [], deps.now().getTime())
  return phase === 'running' ? reasonToStop(deps, pod, session) : reasonToRemove(deps, pod, phase)
}

/** Ends the notebook of a pod that is being deleted, but only when the cluster cannot finish that. */
async function endAbandoned(deps: CullerDeps, { pod, known }: Found & { readonly pod: ClusterPod }): Promise<void> {
  if (known?.podUid !== pod.uid || !isAbandoned(pod, deps.now().getTime())) return
  // The node may never come back: end the token now; the pod goes when the node responds or the user asks for it.
  await endSession(deps, known, { why: 'lost' })
}

/**
 * Records a pod that an interrupted start left without a record; otherwise nothing would ever stop it. Undefined for a
 * pod whose session has ended: an interrupted stop left it.
 */
async function recordStray(deps: CullerDeps, user: string, pod: ClusterPod): Promise<NotebookSession | undefined> {
  return recordSession(deps, pod, { user, activeAt: pod.createdAt ?? deps.now().toISOString() })
}

/** Keeps a notebook that does not run for as long as an idle one, so that its user can see the reason. */
function reasonToRemove(deps: CullerDeps, pod: ClusterPod, phase: string): EndReason | undefined {
  if (phase === 'not_found') return 'ended'
  const ageMs = deps.now().getTime() - Date.parse(pod.createdAt ?? '')
  return ageMs > deps.settings.idleMs ? 'failed' : undefined
}

async function reasonToStop(
  deps: CullerDeps,
  pod: ClusterPod,
  session: NotebookSession,
): Promise<EndReason | undefined> {
  const nowMs = deps.now().getTime() // the activity is measured at the time of the request
  const target = await deps.targets.ofPod(pod)
  const activity = target && (await deps.readActivity(target, hostedNotebookPath(deps.basePath, session.user)))
  // A notebook that does not report its activity may be busy.
  if (!activity) return undefined
  const { busy } = activity
  const seenAt = new Date(busy ? nowMs : (activity.lastMs ?? 0)).toISOString()
  if (seenAt > session.activeAt) await deps.inTransaction((tx) => createNotebookStore(tx).touch(session, seenAt))
  // Read again: another replica may have recorded activity while this one waited for the notebook.
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

/** Announces that a notebook will be stopped; only one replica does it. */
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
