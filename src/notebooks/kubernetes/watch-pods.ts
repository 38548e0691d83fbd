import type { KubeConfig } from '@kubernetes/client-node'
import { ClusterError } from '../cluster-error.ts'
import { readPod } from '../cluster-pod.ts'
import type { PodChange } from '../cluster.ts'
import { NOTEBOOK_SELECTOR } from '../spec.ts'
import { toClusterError } from './kubernetes-errors.ts'

export interface WatchRequest {
  readonly config: KubeConfig
  readonly namespace: string
  /** The version after which changes are reported. */
  readonly from: string
  readonly onChange: (change: PodChange) => void
  readonly signal: AbortSignal
}

/** The cluster ends a watch after this time and a new one starts, so that dead connections are detected. */
const WATCH_S = 60
const GRACE_MS = 15_000

/**
 * Watches the notebook pods once: resolves when the cluster ends the watch, the connection breaks, or the signal is
 * aborted. Throws `ClusterError`; `expired` when the version is too old.
 */
export async function watchPods({ config, namespace, from, onChange, signal }: WatchRequest): Promise<void> {
  const { Watch } = await import('@kubernetes/client-node')
  const ended = Promise.withResolvers<void>()
  const onObject = (type: string, object: unknown): void => {
    const change = readChange(type, object)
    if (change instanceof ClusterError) ended.reject(change)
    else if (change) onChange(change)
  }
  const query = {
    labelSelector: NOTEBOOK_SELECTOR,
    resourceVersion: from,
    allowWatchBookmarks: true,
    timeoutSeconds: WATCH_S,
  }
  let opened = false
  const opening = new Watch(config).watch(`/api/v1/namespaces/${namespace}/pods`, query, onObject, (error: unknown) => {
    // Changes received before the connection broke are valid: the next watch continues after them.
    if (error && !opened && !signal.aborted) ended.reject(toClusterError(error))
    else ended.resolve()
  })
  // It rejects when the credentials cannot be read: a file is missing, or the credential plugin fails.
  opening.then(
    () => (opened = true),
    (error: unknown) => ended.reject(toClusterError(error)),
  )
  const stop = (): void => {
    ended.resolve()
    opening.then(
      (controller) => controller.abort(),
      () => undefined,
    )
  }
  const watchdog = setTimeout(stop, WATCH_S * 1000 + GRACE_MS)
  signal.addEventListener('abort', stop)
  try {
    await ended.promise
  } finally {
    clearTimeout(watchdog)
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Undefined for unknown events, which newer clusters may send. */
function readChange(type: string, object: unknown): PodChange | ClusterError | undefined {
  if (type === 'ERROR') return toClusterError(object)
  const version = versionOf(object)
  if (version === undefined) return undefined
  if (type === 'BOOKMARK') return { kind: 'bookmark', version }
  const pod = readPod(object)
  if (!pod) return undefined
  if (type === 'DELETED') return { kind: 'gone', pod, version }
  return type === 'ADDED' || type === 'MODIFIED' ? { kind: 'put', pod, version } : undefined
}

function versionOf(object: unknown): string | undefined {
  const { metadata } = object as { readonly metadata?: { readonly resourceVersion?: unknown } }
  const version = metadata?.resourceVersion
  return typeof version === 'string' ? version : undefined
}
