import type { ClusterPod } from './cluster-pod.ts'
import type { PodChange } from './cluster.ts'

/** The number of deleted pods that are kept for {@link KnownPods.lastSeen}. */
const MAX_GONE = 1000

/** The pods that a list and a watch of the cluster reported, and the last deleted ones. */
export class KnownPods {
  #pods = new Map<string, ClusterPod>()
  readonly #gone = new Map<string, ClusterPod>()

  /** Replaces all pods with those of a list; the ones that are not in it count as deleted. */
  replace(pods: readonly ClusterPod[]): void {
    const earlier = this.#pods
    this.#pods = new Map(pods.map((pod) => [pod.name, pod]))
    for (const pod of earlier.values()) if (this.#pods.get(pod.name)?.uid !== pod.uid) this.#recordGone(pod)
  }

  /** Applies one change of a watch. */
  apply(change: PodChange): void {
    if (change.kind === 'put') this.#pods.set(change.pod.name, change.pod)
    if (change.kind === 'gone') {
      this.#pods.delete(change.pod.name)
      this.#recordGone(change.pod)
    }
  }

  /** The pod with this name. */
  find(name: string): ClusterPod | undefined {
    return this.#pods.get(name)
  }

  /** All pods that are not deleted. */
  all(): readonly ClusterPod[] {
    return [...this.#pods.values()]
  }

  /** The pod with this uid as it was last reported, also when it is deleted. */
  lastSeen(uid: string): ClusterPod | undefined {
    return this.#gone.get(uid) ?? this.all().find((pod) => pod.uid === uid)
  }

  #recordGone(pod: ClusterPod): void {
    this.#gone.set(pod.uid, pod)
    const [oldest] = this.#gone.keys()
    if (this.#gone.size > MAX_GONE && oldest !== undefined) this.#gone.delete(oldest)
  }
}
