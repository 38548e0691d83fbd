import { isClusterError } from './cluster-error.ts'
import type { ClusterPod } from './cluster-pod.ts'
import type { NotebookCluster } from './cluster.ts'
import { KnownPods } from './known-pods.ts'
import { sleep } from '../lib/sleep.ts'
import { type Loop, type NextTick, startLoop } from '../lib/start-loop.ts'

export interface PodTableDeps {
  /** Undefined while no cluster is available. */
  readonly cluster: () => NotebookCluster | undefined
  readonly nowMs: () => number
  /** How long to wait after a failure, at most; doubled with each further failure, up to 30 s. */
  readonly retryMs: number
  readonly onError: (error: unknown) => void
  /** Called for each pod that the cluster reports, each time. */
  readonly onPod?: (pod: ClusterPod) => void
}

/** The notebook pods as last reported by the cluster, kept up to date with a list and a watch. */
export interface PodTable {
  /** Whether the table is complete; false until the first list, and while the cluster cannot be reached. */
  isComplete(): boolean
  find(name: string): ClusterPod | undefined
  all(): readonly ClusterPod[]
  /** The last known state of the pod with this uid; deleted pods are kept for a while. */
  lastSeen(uid: string): ClusterPod | undefined
  start(): void
  close(): void
}

const MAX_RETRY_MS = 30_000
/** Time between full lists, in case a watch misses changes. */
const RELIST_MS = 3_600_000

/** Creates a table that follows the cluster once it is started. */
export function createPodTable(deps: PodTableDeps): PodTable {
  let loop: Loop | undefined
  const pods = new KnownPods()
  let complete = false

  /** Lists and watches until the version is too old or the next list is due. */
  async function follow(cluster: NotebookCluster, signal: AbortSignal): Promise<void> {
    const list = await cluster.listPods()
    pods.replace(list.pods)
    for (const pod of list.pods) deps.onPod?.(pod)
    complete = true
    let { version } = list
    const until = deps.nowMs() + RELIST_MS
    while (!signal.aborted && deps.nowMs() < until) {
      const from = version
      const started = deps.nowMs()
      await cluster.watchPods(
        version,
        (change) => {
          version = change.version
          pods.apply(change)
          if (change.kind === 'put') deps.onPod?.(change.pod)
        },
        signal,
      )
      // Avoid a tight loop with a cluster that ends every watch at once.
      if (version === from && deps.nowMs() - started < deps.retryMs) await sleep(deps.retryMs, signal)
    }
  }

  async function tick(signal: AbortSignal): Promise<NextTick | void> {
    const cluster = deps.cluster()
    if (!cluster) return
    try {
      await follow(cluster, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!isClusterError(error, 'expired')) {
        complete = false
        throw error
      }
    }
    return { waitMs: 0 }
  }

  return {
    isComplete: () => complete,
    find: (name) => pods.find(name),
    all: () => pods.all(),
    lastSeen: (uid) => pods.lastSeen(uid),
    start() {
      const { retryMs, onError } = deps
      loop ??= startLoop({ everyMs: retryMs, backOff: { firstMs: retryMs, maxMs: MAX_RETRY_MS }, tick, onError })
    },
    close: () => void loop?.stop(),
  }
}
