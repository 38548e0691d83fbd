import { isClusterError } from './cluster-error.ts'
import type { ClusterPod } from './cluster-pod.ts'
import type { NotebookCluster } from './notebook-cluster.ts'

export interface PodTableDeps {
  /** Undefined while there is none. */
  readonly cluster: () => NotebookCluster | undefined
  readonly nowMs: () => number
  /** How long to wait after a failure; doubled with each further one, up to 30 s. */
  readonly retryMs: number
  readonly onError: (error: unknown) => void
}

/** The pods of notebooks as the cluster last told them, kept by a list and a watch. */
export interface PodTable {
  /** Whether all pods are in it; false until the first list, and while the cluster cannot be asked. */
  isComplete(): boolean
  find(name: string): ClusterPod | undefined
  all(): readonly ClusterPod[]
  /** The pod with this uid as it was last told of; gone ones are remembered for a while. */
  lastSeen(uid: string): ClusterPod | undefined
  start(): void
  close(): void
}

const MAX_RETRY_MS = 30_000
/** A watch can miss what it does not know it missed: the list is read again now and then. */
const RELIST_MS = 3_600_000
/** So many pods that are gone are remembered. */
const MAX_GONE = 1000

/** A table that follows the cluster once it is started. */
export function createPodTable(deps: PodTableDeps): PodTable {
  const closing = new AbortController()
  const { signal } = closing
  let pods = new Map<string, ClusterPod>()
  let complete = false
  const gone = new Map<string, ClusterPod>()

  const recordGone = (pod: ClusterPod): void => {
    gone.set(pod.uid, pod)
    const [oldest] = gone.keys()
    if (gone.size > MAX_GONE && oldest !== undefined) gone.delete(oldest)
  }

  /** From one list until its version is too old, or it is time for the next. */
  async function follow(cluster: NotebookCluster): Promise<void> {
    const list = await cluster.listPods()
    const earlier = pods
    pods = new Map(list.pods.map((pod) => [pod.name, pod]))
    for (const pod of earlier.values()) if (pods.get(pod.name)?.uid !== pod.uid) recordGone(pod)
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
          if (change.kind === 'put') pods.set(change.pod.name, change.pod)
          if (change.kind === 'gone') {
            pods.delete(change.pod.name)
            recordGone(change.pod)
          }
        },
        signal,
      )
      // A cluster that ends every watch at once is not to be asked in a tight loop.
      if (version === from && deps.nowMs() - started < deps.retryMs) await sleep(deps.retryMs, signal)
    }
  }

  async function run(): Promise<void> {
    let delayMs = deps.retryMs
    while (!signal.aborted) {
      const cluster = deps.cluster()
      try {
        if (cluster) {
          await follow(cluster)
          delayMs = deps.retryMs
          continue
        }
      } catch (error) {
        if (signal.aborted) return
        if (isClusterError(error, 'expired')) continue
        complete = false
        deps.onError(error)
      }
      await sleep(delayMs, signal)
      delayMs = cluster ? Math.min(delayMs * 2, MAX_RETRY_MS) : deps.retryMs
    }
  }

  return {
    isComplete: () => complete,
    find: (name) => pods.get(name),
    all: () => [...pods.values()],
    lastSeen: (uid) => gone.get(uid) ?? [...pods.values()].find((pod) => pod.uid === uid),
    start: () => void run(),
    close: () => closing.abort(),
  }
}

/** Waits, but not beyond the signal. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
