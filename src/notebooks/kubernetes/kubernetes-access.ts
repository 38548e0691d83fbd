import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type * as kubernetes from '@kubernetes/client-node'
import { z } from 'zod'
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
  loadFile(library, config, first)
  for (const file of others) {
    const next = new library.KubeConfig()
    loadFile(library, next, file)
    config.mergeConfig(next, true) // the first file that says which context is current wins, as with kubectl
  }
}

function loadFile(library: KubernetesLibrary, config: kubernetes.KubeConfig, file: string): void {
  config.loadFromFile(file)
  const files = tokenFiles(library.loadYaml(readFileSync(file, 'utf8')))
  config.users = config.users.map((user) => {
    const tokenFile = files.get(user.name)
    if (tokenFile === undefined) return user
    // As with kubectl, the file wins over a token, and is read again when it changes.
    const { token: _, ...others } = user
    return { ...others, authProvider: { name: 'tokenFile', config: { tokenFile: resolve(dirname(file), tokenFile) } } }
  })
}

const usersWithTokenFile = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
})

/** The `tokenFile` of each user, by the user's name: the library ignores this field. */
function tokenFiles(document: unknown): ReadonlyMap<string, string> {
  const users = usersWithTokenFile.safeParse(document).data?.users ?? []
  return new Map(users.flatMap(({ name, user }) => (user?.tokenFile ? [[name, user.tokenFile] as const] : [])))
}
