import type * as kubernetes from '@kubernetes/client-node'
import { ClusterError } from '../cluster-error.ts'

/** Where the cluster address and its credentials come from. */
export type KubernetesAccess =
  | { readonly kind: 'kubeconfig'; readonly files: readonly string[] }
  | { readonly kind: 'pod' }

/** The library, loaded only where a cluster is configured: it takes half a second and 60 MB. */
export type KubernetesLibrary = typeof kubernetes

/**
 * Reads the address and credentials of a cluster. Throws `ClusterError` `unavailable` when a file is missing or
 * invalid, or names no cluster.
 */
export function readAccess(library: KubernetesLibrary, access: KubernetesAccess): kubernetes.KubeConfig {
  const config = new library.KubeConfig()
  try {
    if (access.kind === 'pod') config.loadFromCluster()
    else loadFiles(library, config, access.files)
  } catch (cause) {
    throw new ClusterError('unavailable', 'the kubeconfig cannot be read', { cause })
  }
  if (!config.getCurrentCluster()) throw new ClusterError('unavailable', 'the kubeconfig names no current cluster')
  return config
}

function loadFiles(
  library: KubernetesLibrary,
  config: kubernetes.KubeConfig,
  [first = '', ...others]: readonly string[],
): void {
  config.loadFromFile(first)
  for (const file of others) {
    const next = new library.KubeConfig()
    next.loadFromFile(file)
    config.mergeConfig(next, true) // the first file that says which context is current wins, as with kubectl
  }
}
