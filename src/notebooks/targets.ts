import { LRUCache } from 'lru-cache'

import type { ClusterPod } from './cluster-pod.ts'
import type { NotebookCluster } from './cluster.ts'
import { notebookName, sessionName } from './names.ts'
import { canHaveNotebook } from './path.ts'
import { ANNOTATIONS, LABELS, NOTEBOOK_PORT, SECRET_KEYS } from './spec.ts'
import type { NotebookTarget } from './target.ts'
import { isReady } from './pod-status.ts'
import type { PodTable } from './pod-table.ts'

/** The address of a pod: `http://host:port`; undefined while it has none. */
export type AddressOf = (pod: ClusterPod, namespace: string) => string | undefined

export interface TargetFinderDeps {
  readonly cluster: () => NotebookCluster | undefined
  readonly table: PodTable
  readonly addressOf: AddressOf
  readonly nowMs: () => number
}

/** Finds the targets of notebooks; see {@link NotebookTargets}. */
export interface TargetFinder {
  /** Throws `ClusterError` when the cluster has to be called and does not answer. */
  find(user: string): Promise<NotebookTarget | undefined>
  /** The target of a known pod; undefined while its secret does not exist. */
  ofPod(pod: ClusterPod): Promise<NotebookTarget | undefined>
}

/** Time until the cluster is asked again for a pod that is not in the table. */
const UNKNOWN_MS = 2000
const MAX_REMEMBERED = 10_000

/** Addresses by the DNS name of the pod's service. */
export const byServiceName: AddressOf = (pod, namespace) =>
  `http://${sessionName(pod.name, sessionOf(pod))}.${namespace}.svc:${NOTEBOOK_PORT}`

/** Addresses by the pod's IP, for a Lockhouse outside the cluster with a route to its network. */
export const byPodIp: AddressOf = ({ ip }) => ip && `http://${ip.includes(':') ? `[${ip}]` : ip}:${NOTEBOOK_PORT}`

/** The session that a pod belongs to. */
export function sessionOf(pod: ClusterPod): string {
  return pod.labels[LABELS.session] ?? ''
}

/** The cluster's answer about a pod that is not in the table, and when it was requested. */
interface AskedPod {
  readonly atMs: number
  readonly pod: Promise<ClusterPod | undefined>
}

/** Creates a finder that uses the table of pods, and reads each pod's token from the cluster once. */
export function createTargetFinder({ cluster, table, addressOf, nowMs }: TargetFinderDeps): TargetFinder {
  const tokens = new LRUCache<string, Promise<string | undefined>>({ max: MAX_REMEMBERED })
  const asked = new LRUCache<string, AskedPod>({ max: MAX_REMEMBERED })

  const tokenOf = (pod: ClusterPod, from: NotebookCluster): Promise<string | undefined> => {
    const known = tokens.get(pod.uid)
    if (known) return known
    const read = from.readSecret(sessionName(pod.name, sessionOf(pod))).then((secret) => secret?.[SECRET_KEYS.jupyter])
    tokens.set(pod.uid, read)
    const forget = (): void => void tokens.delete(pod.uid)
    // Do not cache a missing token: the secret may still be created.
    read.then((token) => token ?? forget(), forget)
    return read
  }
  const podOf = (name: string, from: NotebookCluster): Promise<ClusterPod | undefined> => {
    const inTable = table.find(name)
    if (inTable) return Promise.resolve(inTable)
    const last = asked.get(name)
    if (last && nowMs() - last.atMs < UNKNOWN_MS) return last.pod
    const pod = from.getPod(name)
    asked.set(name, { atMs: nowMs(), pod })
    pod.catch(() => asked.delete(name))
    return pod
  }
  const ofPod = async (pod: ClusterPod, from: NotebookCluster): Promise<NotebookTarget | undefined> => {
    const baseUrl = addressOf(pod, from.namespace)
    const token = await tokenOf(pod, from)
    return baseUrl !== undefined && token !== undefined ? { baseUrl, token, ready: isReady(pod) } : undefined
  }
  return {
    async find(user) {
      const from = cluster()
      if (!from || !canHaveNotebook(user)) return undefined
      const pod = await podOf(notebookName(user), from)
      if (!pod || pod.annotations[ANNOTATIONS.user] !== user || pod.deletedAt !== undefined) return undefined
      return (await ofPod(pod, from)) ?? { baseUrl: '', token: '', ready: false }
    },
    async ofPod(pod) {
      const from = cluster()
      return from && ofPod(pod, from)
    },
  }
}
