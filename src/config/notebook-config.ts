import { z } from 'zod'
import { parseNotebookHosts } from '../notebook-proxy/admission/hosts.ts'
import type { Isolation } from '../notebook-proxy/admission/policy.ts'
import { type NotebookPlacement, notebookPlacement } from './notebook-placement.ts'
import { fromEnv, isPlainHttpUrl, listOf, oneOf, shown, variable, wholeNumber } from './variables.ts'

/** Settings of notebooks; sizes are Kubernetes quantities. */
export interface NotebookConfig {
  /** Which cluster to use; undefined: none, and the notebook routes do not exist. */
  readonly cluster: ClusterAccess | undefined
  /** `NOTEBOOK_NAMESPACE`; undefined: the namespace of the kubeconfig's context or of the service account. */
  readonly namespace: string | undefined
  /** `NOTEBOOK_IMAGES`: images that may run; the first is the default. */
  readonly images: readonly string[]
  readonly resources: NotebookResources
  /** Volume that keeps each user's files when the pod is deleted; undefined: they are deleted with it. */
  readonly volume: { readonly size: string; readonly storageClass: string | undefined } | undefined
  /** `NOTEBOOK_IDLE_MINUTES`, in ms: time without activity after which a notebook is stopped. */
  readonly idleMs: number
  /** `NOTEBOOK_WARNING_MINUTES`, in ms: how long before the stop it is announced. */
  readonly warningMs: number
  /** `NOTEBOOK_TOKEN_HOURS`, in ms: lifetime of the Lockhouse token of a notebook. */
  readonly tokenMs: number
  /** `NOTEBOOK_LOCKHOUSE_URL`: address of this service for pods; undefined: notebooks get no token. */
  readonly apiUrl: string | undefined
  /** `NOTEBOOK_CATALOG_URI`: address of the catalog for pods, with an account that every notebook user may use. */
  readonly catalogUri: string | undefined
  /** `NOTEBOOK_WAREHOUSE_CLAIM`: a volume claim with the warehouse, mounted read-only at the warehouse's own path. */
  readonly warehouseClaim: string | undefined
  /** `NOTEBOOK_ADDRESS`: whether pods are reached by the DNS name of their service or by their IP. */
  readonly address: 'service-dns' | 'pod-ip'
  /**
   * `NOTEBOOK_ISOLATION`: `host`: each notebook has a host, and with it an origin, of its own. `path`: notebooks share the
   * origin of the service.
   */
  readonly isolation: Isolation
  /** `NOTEBOOK_HOST_TEMPLATE`: the host of each user's notebook; undefined: one below `notebooks.localhost`. */
  readonly hostTemplate: string | undefined
  readonly placement: NotebookPlacement
}

/** How to reach the cluster: the files of `KUBECONFIG`, or the service account of this process's pod. */
export type ClusterAccess =
  | { readonly kind: 'kubeconfig'; readonly files: readonly string[] }
  | { readonly kind: 'pod' }

export interface NotebookResources {
  readonly cpuRequest: string
  readonly cpuLimit: string
  readonly memoryRequest: string
  readonly memoryLimit: string
  /** Limit of the container's file system and, without a volume, of the user's files. */
  readonly storageLimit: string
}

const DEFAULT_IMAGE = 'quay.io/jupyter/scipy-notebook:2026-10-05'

const MINUTE_MS = 60_000

const dnsLabel = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, shown('must be up to 63 lower-case letters, digits and hyphens'))

const quantity = z
  .string()
  .regex(
    /^(?!0+$)\d{1,9}(\.\d{1,3})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/,
    shown('must be a Kubernetes quantity such as 500m, 2 or 4Gi'),
  )

/** An image reference: name, then a tag or a digest or both. */
const image = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9.-]*(:\d{1,5})?(\/[a-z0-9][a-z0-9._-]*)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
    shown('must be comma-separated images, such as quay.io/jupyter/scipy-notebook:2026-10-05'),
  )

const apiUrl = z
  .string()
  .refine(isPlainHttpUrl, 'must be an http(s) address without credentials and query')
  .transform((text) => new URL(text).href.replace(/\/+$/, ''))

const catalogUri = z
  .string()
  .refine(
    (text) => /^(https?|postgres(ql)?(\+\w+)?):$/.test(URL.parse(text)?.protocol ?? ''),
    'must be an http(s) or postgresql address',
  )

const hostTemplate = z.string().refine((text) => {
  const hosts = parseNotebookHosts(text)
  return hosts !== undefined && (text.startsWith('https:') || /\.localhost(:\d+)?$/.test(text))
}, 'must be a URL with {slug}, such as https://{slug}.nb.example (http for .localhost only)')

const cluster = fromEnv({
  mode: variable('NOTEBOOKS', z.enum(['auto', 'off'], shown('must be auto or off')).default('auto')),
  files: variable(
    'KUBECONFIG',
    z
      .string()
      .default('')
      .transform((text) => text.split(':').filter((file) => file !== '')),
  ),
  podHost: variable('KUBERNETES_SERVICE_HOST', z.string().optional()),
}).transform(({ mode, files, podHost }): ClusterAccess | undefined => {
  if (mode === 'off') return undefined
  if (files.length > 0) return { kind: 'kubeconfig', files }
  return podHost === undefined ? undefined : { kind: 'pod' }
})

const volume = fromEnv({
  size: variable('NOTEBOOK_VOLUME_SIZE', quantity.optional()),
  storageClass: variable('NOTEBOOK_STORAGE_CLASS', z.string().optional()),
}).transform(({ size, storageClass }, context): NotebookConfig['volume'] => {
  if (size !== undefined) return { size, storageClass }
  if (storageClass !== undefined) context.addIssue('NOTEBOOK_STORAGE_CLASS needs NOTEBOOK_VOLUME_SIZE')
  return undefined
})

/** Parses the settings of notebooks. */
export const notebookSettings = fromEnv({
  cluster,
  namespace: variable('NOTEBOOK_NAMESPACE', dnsLabel.optional()),
  images: variable('NOTEBOOK_IMAGES', listOf(image).default([DEFAULT_IMAGE])),
  resources: fromEnv({
    cpuRequest: variable('NOTEBOOK_CPU_REQUEST', quantity.default('100m')),
    cpuLimit: variable('NOTEBOOK_CPU_LIMIT', quantity.default('2')),
    memoryRequest: variable('NOTEBOOK_MEMORY_REQUEST', quantity.default('512Mi')),
    memoryLimit: variable('NOTEBOOK_MEMORY_LIMIT', quantity.default('4Gi')),
    storageLimit: variable('NOTEBOOK_STORAGE_LIMIT', quantity.default('10Gi')),
  }),
  volume,
  idleMs: variable('NOTEBOOK_IDLE_MINUTES', minutes(5, 10_080, 60)),
  warningMs: variable('NOTEBOOK_WARNING_MINUTES', minutes(1, 1440, 10)),
  tokenMs: variable(
    'NOTEBOOK_TOKEN_HOURS',
    wholeNumber(1, 168)
      .default(12)
      .transform((hours) => hours * 60 * MINUTE_MS),
  ),
  apiUrl: variable('NOTEBOOK_LOCKHOUSE_URL', apiUrl.optional()),
  catalogUri: variable('NOTEBOOK_CATALOG_URI', catalogUri.optional()),
  warehouseClaim: variable('NOTEBOOK_WAREHOUSE_CLAIM', dnsLabel.optional()),
  address: variable(
    'NOTEBOOK_ADDRESS',
    z.enum(['service-dns', 'pod-ip'], shown('must be service-dns or pod-ip')).default('service-dns'),
  ),
  isolation: variable('NOTEBOOK_ISOLATION', oneOf('host', 'path').default('host')),
  hostTemplate: variable('NOTEBOOK_HOST_TEMPLATE', hostTemplate.optional()),
  placement: notebookPlacement,
})
  .refine(
    ({ warningMs, idleMs }) => warningMs < idleMs,
    'NOTEBOOK_WARNING_MINUTES must be less than NOTEBOOK_IDLE_MINUTES',
  )
  .refine(
    ({ isolation, hostTemplate }) => isolation === 'host' || hostTemplate === undefined,
    'NOTEBOOK_ISOLATION=path puts notebooks on the host of the service, but NOTEBOOK_HOST_TEMPLATE names others: unset one',
  ) satisfies z.ZodType<NotebookConfig>

/** A duration set in minutes, converted to ms. */
function minutes(min: number, max: number, fallback: number) {
  return wholeNumber(min, max)
    .default(fallback)
    .transform((value) => value * MINUTE_MS)
}
