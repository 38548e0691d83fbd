import type { V1ConfigMap, V1PersistentVolumeClaim, V1Pod, V1Secret, V1Service } from '@kubernetes/client-node'
import type { ClusterPod } from './cluster-pod.ts'

/** A change that a watch reports; `version` is where a later watch goes on. */
export type PodChange =
  | { readonly kind: 'put'; readonly pod: ClusterPod; readonly version: string }
  | { readonly kind: 'gone'; readonly pod: ClusterPod; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string }

/** Something that the cluster tells about a pod. */
export interface PodEvent {
  readonly podUid: string
  readonly warning: boolean
  /** Such as `FailedScheduling`. */
  readonly reason: string
  readonly message: string
  /** RFC 3339; undefined when the cluster does not tell. */
  readonly at: string | undefined
}

/** Right to do something, as Kubernetes' RBAC names it. */
export interface ClusterPermission {
  readonly resource: 'pods' | 'services' | 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'events'
  readonly verb: 'create' | 'get' | 'list' | 'watch' | 'delete'
}

/** All that {@link NotebookCluster} ever does, in one namespace; `deploy/kubernetes/` grants this and no more. */
export const CLUSTER_PERMISSIONS: readonly ClusterPermission[] = [
  { resource: 'pods', verb: 'create' },
  { resource: 'pods', verb: 'get' },
  { resource: 'pods', verb: 'list' },
  { resource: 'pods', verb: 'watch' },
  { resource: 'pods', verb: 'delete' },
  { resource: 'services', verb: 'create' },
  { resource: 'services', verb: 'get' },
  { resource: 'services', verb: 'delete' },
  { resource: 'secrets', verb: 'create' },
  { resource: 'secrets', verb: 'get' },
  { resource: 'secrets', verb: 'delete' },
  { resource: 'configmaps', verb: 'create' },
  { resource: 'configmaps', verb: 'get' },
  { resource: 'configmaps', verb: 'delete' },
  { resource: 'persistentvolumeclaims', verb: 'create' },
  { resource: 'persistentvolumeclaims', verb: 'get' },
  { resource: 'events', verb: 'list' },
]

/**
 * The cluster, as notebooks need it: one namespace of it, and in there only what has the label of notebooks. Every
 * method throws a `ClusterError`, within 10 s when the cluster does not answer; a deletion of what is not there is done.
 */
export interface NotebookCluster {
  readonly namespace: string
  /** Asks for the cluster's version; the answer is that version. */
  version(): Promise<string>
  /** Whether this process's account has the right. */
  mayI(permission: ClusterPermission): Promise<boolean>
  /** Throws `exists`. */
  createPod(pod: V1Pod): Promise<ClusterPod>
  getPod(name: string): Promise<ClusterPod | undefined>
  listPods(): Promise<{ readonly pods: readonly ClusterPod[]; readonly version: string }>
  /** Reports changes after a version until the cluster ends the stream or the signal is aborted. Throws `expired`. */
  watchPods(version: string, onChange: (change: PodChange) => void, signal: AbortSignal): Promise<void>
  /**
   * Only the pod with this uid: one that took its name meanwhile stays. `force` takes it out of the cluster at once,
   * without waiting for its node, where it may go on for as long as the node cannot be reached.
   */
  deletePod(name: string, uid: string, how?: { readonly force: boolean }): Promise<void>
  /** Throws `exists`. */
  createSecret(secret: V1Secret): Promise<void>
  /**
   * Makes the object unless there is one of its name, as the two below. It looks first: a quota is charged for an
   * attempt before the cluster finds that the name is taken, and the cluster corrects that only minutes later.
   */
  ensureService(service: V1Service): Promise<void>
  ensureConfigMap(map: V1ConfigMap): Promise<void>
  ensureVolumeClaim(claim: V1PersistentVolumeClaim): Promise<void>
  deleteService(name: string): Promise<void>
  deleteSecret(name: string): Promise<void>
  deleteConfigMap(name: string): Promise<void>
  /** A secret's entries, as text; undefined when there is none. */
  readSecret(name: string): Promise<Readonly<Record<string, string>> | undefined>
  /** What the cluster tells about pods of this name, oldest first. */
  podEvents(name: string): Promise<readonly PodEvent[]>
}
