import { parseNotebookHosts } from '../notebooks/proxy/notebook-hosts.ts'
import { ConfigError } from './config-error.ts'
import type { Env } from './env.ts'
import { type NotebookPlacement, notebookPlacement } from './notebook-placement.ts'

/** Settings of notebooks; sizes are Kubernetes quantities, as text. */
export interface NotebookConfig {
  /** Which cluster to use; undefined: none, and no route of notebooks exists. */
  readonly cluster: ClusterAccess | undefined
  /** `NOTEBOOK_NAMESPACE`; undefined: that of the kubeconfig's context or of the service account. */
  readonly namespace: string | undefined
  /** Images that may run; the first is the default. From `NOTEBOOK_IMAGES`. */
  readonly images: readonly string[]
  readonly resources: NotebookResources
  /** Keeps each user's files beyond the pod; undefined: they go with it. */
  readonly volume: { readonly size: string; readonly storageClass: string | undefined } | undefined
  /** `NOTEBOOK_IDLE_MINUTES`, in ms: a notebook in which nothing is done for so long is stopped. */
  readonly idleMs: number
  /** `NOTEBOOK_WARNING_MINUTES`, in ms: how long before that it is announced. */
  readonly warningMs: number
  /** `NOTEBOOK_TOKEN_HOURS`, in ms: how long the Lockhouse token of a notebook is good. */
  readonly tokenMs: number
  /** `NOTEBOOK_LOCKHOUSE_URL`: this service as pods reach it; undefined: notebooks get no token. */
  readonly apiUrl: string | undefined
  /** `NOTEBOOK_CATALOG_URI`: the catalog as pods reach it, with an account that every notebook user may have. */
  readonly catalogUri: string | undefined
  /** `NOTEBOOK_WAREHOUSE_CLAIM`: a volume claim with the warehouse, mounted for reading at the warehouse's own path. */
  readonly warehouseClaim: string | undefined
  /** `NOTEBOOK_ADDRESS`: whether pods are reached by the name of their service, or by their IP. */
  readonly address: 'service-dns' | 'pod-ip'
  /** `NOTEBOOK_HOST_TEMPLATE`: a host of its own for each user's notebook; undefined: all under the service's. */
  readonly hostTemplate: string | undefined
  readonly placement: NotebookPlacement
}

/** How to reach the cluster: files of `KUBECONFIG`, or the service account of the pod that this process runs in. */
export type ClusterAccess =
  | { readonly kind: 'kubeconfig'; readonly files: readonly string[] }
  | { readonly kind: 'pod' }

export interface NotebookResources {
  readonly cpuRequest: string
  readonly cpuLimit: string
  readonly memoryRequest: string
  readonly memoryLimit: string
  /** Of the container's own file system and, without a volume, of the user's files. */
  readonly storageLimit: string
}

const DEFAULT_IMAGE = 'quay.io/jupyter/scipy-notebook:2026-10-05'

const MINUTE_MS = 60_000

/** Reads the settings of notebooks; throws {@link ConfigError} on a wrong or contradictory value. */
export function notebookConfig(env: Env): NotebookConfig {
  const config: NotebookConfig = {
    cluster: clusterAccess(env),
    namespace: matching(env, 'NOTEBOOK_NAMESPACE', DNS_LABEL),
    images: images(env),
    resources: {
      cpuRequest: quantity(env, 'NOTEBOOK_CPU_REQUEST') ?? '100m',
      cpuLimit: quantity(env, 'NOTEBOOK_CPU_LIMIT') ?? '2',
      memoryRequest: quantity(env, 'NOTEBOOK_MEMORY_REQUEST') ?? '512Mi',
      memoryLimit: quantity(env, 'NOTEBOOK_MEMORY_LIMIT') ?? '4Gi',
      storageLimit: quantity(env, 'NOTEBOOK_STORAGE_LIMIT') ?? '10Gi',
    },
    volume: volume(env),
    idleMs: whole(env, 'NOTEBOOK_IDLE_MINUTES', { fallback: 60, min: 5, max: 10_080 }) * MINUTE_MS,
    warningMs: whole(env, 'NOTEBOOK_WARNING_MINUTES', { fallback: 10, min: 1, max: 1440 }) * MINUTE_MS,
    tokenMs: whole(env, 'NOTEBOOK_TOKEN_HOURS', { fallback: 12, min: 1, max: 168 }) * 60 * MINUTE_MS,
    apiUrl: apiUrl(env),
    catalogUri: catalogUri(env),
    warehouseClaim: matching(env, 'NOTEBOOK_WAREHOUSE_CLAIM', DNS_LABEL),
    address: address(env),
    hostTemplate: hostTemplate(env),
    placement: notebookPlacement(env),
  }
  if (config.warningMs >= config.idleMs) {
    throw new ConfigError('NOTEBOOK_WARNING_MINUTES must be less than NOTEBOOK_IDLE_MINUTES')
  }
  return config
}

function clusterAccess(env: Env): ClusterAccess | undefined {
  const mode = env['NOTEBOOKS'] ?? 'auto'
  if (mode !== 'auto' && mode !== 'off') {
    throw new ConfigError(`NOTEBOOKS must be auto or off, not ${JSON.stringify(mode)}`)
  }
  if (mode === 'off') return undefined
  const files = (env['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '')
  if (files.length > 0) return { kind: 'kubeconfig', files }
  return env['KUBERNETES_SERVICE_HOST'] === undefined ? undefined : { kind: 'pod' }
}

interface Pattern {
  readonly test: RegExp
  readonly rule: string
}

const DNS_LABEL: Pattern = {
  test: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  rule: 'must be up to 63 lower-case letters, digits and hyphens',
}

const QUANTITY: Pattern = {
  test: /^(?!0+$)\d{1,9}(\.\d{1,3})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/,
  rule: 'must be a Kubernetes quantity such as 500m, 2 or 4Gi',
}

/** A reference as container runtimes read it: name, then a tag or a digest or both. */
const IMAGE: Pattern = {
  test: /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9][a-z0-9._-]*)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
  rule: 'must be images such as quay.io/jupyter/scipy-notebook:2026-10-05, joined by commas',
}

function matching(env: Env, name: string, { test, rule }: Pattern): string | undefined {
  const text = env[name]
  if (text === undefined || test.test(text)) return text
  throw new ConfigError(`${name} ${rule}, not ${JSON.stringify(text)}`)
}

function quantity(env: Env, name: string): string | undefined {
  return matching(env, name, QUANTITY)
}

function images(env: Env): string[] {
  const names = (env['NOTEBOOK_IMAGES'] ?? DEFAULT_IMAGE).split(',').map((name) => name.trim())
  for (const name of names) matching({ NOTEBOOK_IMAGES: name }, 'NOTEBOOK_IMAGES', IMAGE)
  return names
}

function volume(env: Env): NotebookConfig['volume'] {
  const size = quantity(env, 'NOTEBOOK_VOLUME_SIZE')
  const storageClass = env['NOTEBOOK_STORAGE_CLASS']
  if (size !== undefined) return { size, storageClass }
  if (storageClass === undefined) return undefined
  throw new ConfigError('NOTEBOOK_STORAGE_CLASS needs NOTEBOOK_VOLUME_SIZE')
}

function whole(env: Env, name: string, rule: { fallback: number; min: number; max: number }): number {
  const text = env[name]
  if (text === undefined) return rule.fallback
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= rule.min && value <= rule.max) return value
  throw new ConfigError(`${name} must be a whole number from ${rule.min} to ${rule.max}, not ${JSON.stringify(text)}`)
}

function apiUrl(env: Env): string | undefined {
  const text = env['NOTEBOOK_LOCKHOUSE_URL']
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const plain = url && !url.username && !url.password && !url.search && !url.hash
  if (plain && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href.replace(/\/+$/, '')
  throw new ConfigError('NOTEBOOK_LOCKHOUSE_URL must be an http(s) address without credentials and query')
}

function catalogUri(env: Env): string | undefined {
  const text = env['NOTEBOOK_CATALOG_URI']
  if (text === undefined || /^(https?|postgres(ql)?(\+\w+)?):$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new ConfigError('NOTEBOOK_CATALOG_URI must be an http(s) or postgresql address')
}

function address(env: Env): NotebookConfig['address'] {
  const text = env['NOTEBOOK_ADDRESS'] ?? 'service-dns'
  if (text === 'service-dns' || text === 'pod-ip') return text
  throw new ConfigError(`NOTEBOOK_ADDRESS must be service-dns or pod-ip, not ${JSON.stringify(text)}`)
}

function hostTemplate(env: Env): string | undefined {
  const text = env['NOTEBOOK_HOST_TEMPLATE']
  if (text === undefined) return undefined
  const hosts = parseNotebookHosts(text)
  if (hosts === undefined || !(hosts.secure || /\.localhost(:\d+)?$/.test(text))) {
    throw new ConfigError('NOTEBOOK_HOST_TEMPLATE must be such as https://{slug}.nb.example (http for .localhost only)')
  }
  if (env['AUTH_MODE'] !== 'off') return text
  throw new ConfigError('NOTEBOOK_HOST_TEMPLATE keeps users apart, and AUTH_MODE=off knows none')
}
