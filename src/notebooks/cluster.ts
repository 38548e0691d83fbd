import type { V1ConfigMap, V1PersistentVolumeClaim, V1Pod, V1Secret, V1Service } from '@kubernetes/client-node'
import type { ClusterPod } from './cluster-pod.ts'

/** A change reported by a watch; a later watch continues from `version`. */
export type PodChange =
  | { readonly kind: 'put'; readonly pod: ClusterPod; readonly version: string }
  | { readonly kind: 'gone'; readonly pod: ClusterPod; readonly version: string }
  | { readonly kind: 'bookmark'; readonly version: string }

/** An event of the cluster about a pod. */
export interface PodEvent {
  readonly podUid: string
  readonly warning: boolean
  /** Such as `FailedScheduling`. */
  readonly reason: string
  readonly message: string
  /** RFC 3339; undefined when the cluster does not report it. */
  readonly at: string | undefined
}

/** A permission, in the terms of Kubernetes RBAC. */
export interface ClusterPermission {
  readonly resource: 'pods' | 'services' | 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'events'
  readonly verb: 'create' | 'get' | 'list' | 'watch' | 'delete'
}

/** All permissions that {@link NotebookCluster} uses, in one namespace; `deploy/kubernetes/` grants exactly these. */
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
 * The cluster as notebooks need it: one namespace, and only the objects with the label of notebooks. Every method
 * throws a `ClusterError`, within 10 s when the cluster does not answer. Deleting a missing object succeeds.
 */
export interface NotebookCluster {
  readonly namespace: string
  /** The version of the cluster. */
  version(): Promise<string>
  /** Whether this process's account has the permission. */
  mayI(permission: ClusterPermission): Promise<boolean>
  /** Throws `exists`. */
  createPod(pod: V1Pod): Promise<ClusterPod>
  getPod(name: string): Promise<ClusterPod | undefined>
  listPods(): Promise<{ readonly pods: readonly ClusterPod[]; readonly version: string }>
  /** Reports changes after a version until the cluster ends the stream or the signal is aborted. Throws `expired`. */
  watchPods(version: string, onChange: (change: PodChange) => void, signal: AbortSignal): Promise<void>
  /**
   * Deletes only the pod with this uid: a newer pod of the same name stays. `force` removes it from the cluster at
   * once, without waiting for its node, where it may keep running for as long as the node cannot be reached.
   */
  deletePod(name: string, uid: string, how?: { readonly force: boolean }): Promise<void>
  /** Throws `exists`. */
  createSecret(secret: V1Secret): Promise<void>
  /**
   * Creates the object unless one of that name exists, like the next two methods. It reads first: a create request
   * counts against the quota before the cluster notices that the name is taken, and the cluster corrects the count only
   * minutes later.
   */
  ensureService(service: V1Service): Promise<void>
  ensureConfigMap(map: V1ConfigMap): Promise<void>
  ensureVolumeClaim(claim: V1PersistentVolumeClaim): Promise<void>
  deleteService(name: string): Promise<void>
  deleteSecret(name: string): Promise<void>
  deleteConfigMap(name: string): Promise<void>
  /** The entries of a secret, as text; undefined when it does not exist. */
  readSecret(name: string): Promise<Readonly<Record<string, string>> | undefined>
  /** Events about pods of this name, oldest first. */
  podEvents(name: string): Promise<readonly PodEvent[]>
}
