import type { ClusterPod } from './cluster-pod.ts'
import type { NotebookCluster } from './notebook-cluster.ts'
import { notebookName, sessionName } from './notebook-names.ts'
import { canHaveNotebook } from './notebook-path.ts'
import { ANNOTATIONS, LABELS, NOTEBOOK_PORT, SECRET_KEYS } from './notebook-spec.ts'
import type { NotebookTarget } from './notebook-target.ts'
import { isReady } from './pod-status.ts'
import type { PodTable } from './pod-table.ts'

/** How a pod is reached: `http://host:port`; undefined while it cannot be. */
export type AddressOf = (pod: ClusterPod, namespace: string) => string | undefined

export interface TargetFinderDeps {
  readonly cluster: () => NotebookCluster | undefined
  readonly table: PodTable
  readonly addressOf: AddressOf
  readonly nowMs: () => number
}

/** Finds where notebooks are; see {@link NotebookTargets} for what it promises. */
export interface TargetFinder {
  /** Throws `ClusterError` when the cluster has to be asked and does not answer. */
  find(user: string): Promise<NotebookTarget | undefined>
  /** The same for a pod that is at hand; undefined while its secret is not there. */
  ofPod(pod: ClusterPod): Promise<NotebookTarget | undefined>
}

/** A pod that the table does not know is asked for again after this time. */
const UNKNOWN_MS = 2000
const MAX_REMEMBERED = 10_000

/** Addresses by the name of the pod's service, which the cluster's DNS resolves. */
export const byServiceName: AddressOf = (pod, namespace) =>
  `http://${sessionName(pod.name, sessionOf(pod))}.${namespace}.svc:${NOTEBOOK_PORT}`

/** Addresses by the pod's IP, for a service outside of the cluster that routes to its network. */
export const byPodIp: AddressOf = ({ ip }) => ip && `http://${ip.includes(':') ? `[${ip}]` : ip}:${NOTEBOOK_PORT}`

/** The session that a pod belongs to. */
export function sessionOf(pod: ClusterPod): string {
  return pod.labels[LABELS.session] ?? ''
}

/** A finder that answers from the table of pods, and asks the cluster once for each pod's token. */
export function createTargetFinder({ cluster, table, addressOf, nowMs }: TargetFinderDeps): TargetFinder {
  const tokens = new Map<string, Promise<string | undefined>>()
  const asked = new Map<string, { readonly atMs: number; readonly pod: Promise<ClusterPod | undefined> }>()

  const tokenOf = (pod: ClusterPod, from: NotebookCluster): Promise<string | undefined> => {
    const known = tokens.get(pod.uid)
    if (known) return known
    if (tokens.size >= MAX_REMEMBERED) tokens.clear()
    const read = from.readSecret(sessionName(pod.name, sessionOf(pod))).then((secret) => secret?.[SECRET_KEYS.jupyter])
    tokens.set(pod.uid, read)
    const forget = (): void => void tokens.delete(pod.uid)
    // What is not there yet will be.
    read.then((token) => token ?? forget(), forget)
    return read
  }
  const podOf = (name: string, from: NotebookCluster): Promise<ClusterPod | undefined> => {
    const inTable = table.find(name)
    if (inTable) return Promise.resolve(inTable)
    const last = asked.get(name)
    if (last && nowMs() - last.atMs < UNKNOWN_MS) return last.pod
    if (asked.size >= MAX_REMEMBERED) asked.clear()
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
