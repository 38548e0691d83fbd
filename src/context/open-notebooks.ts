import type { Config } from '../config/config.ts'
import type { Loop } from '../lib/start-loop.ts'
import { connectKubernetes } from '../notebooks/kubernetes/kubernetes-cluster.ts'
import { createClusterGate, type GateState } from '../notebooks/cluster-gate.ts'
import { createActivityReader } from '../notebooks/activity.ts'
import { type AddressOf, byPodIp, byServiceName, createTargetFinder } from '../notebooks/targets.ts'
import { LOCAL_NOTEBOOK_HOSTS, type NotebookHosts, parseNotebookHosts } from '../notebook-proxy/admission/hosts.ts'
import { isReady } from '../notebooks/pod-status.ts'
import { createPodTable } from '../notebooks/pod-table.ts'
import { runPlugin } from '../notebooks/kubernetes/exec-plugin.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { Logger } from '../services/logger.ts'
import { cullNotebooks } from '../services/notebooks/culler.ts'
import { createNotebookService, type NotebookService } from '../services/notebooks/notebook-service.ts'
import { createTouches } from '../services/notebooks/touches.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { TokenService } from '../services/identity/token-service.ts'
import { createNotebookStore } from '../storage/stores/notebooks/notebook-store.ts'
import type { State } from './open-state.ts'

export interface NotebookParts {
  readonly state: Pick<State, 'db' | 'inTransaction' | 'audit' | 'events'>
  readonly tokens: TokenService
  readonly catalog: CatalogService
  readonly now: () => Date
  readonly log: Logger
  readonly randomBytes: (length: number) => Uint8Array
  readonly overrides?: NotebookOverrides | undefined
}

/** Replacements for tests: pod addresses, and times in ms. */
export interface NotebookOverrides {
  readonly addressOf?: AddressOf
  readonly idleMs?: number
  readonly warningMs?: number
  readonly probeMs?: number
  readonly cullMs?: number
  readonly attemptMs?: number
  readonly goneMs?: number
}

/** Services for notebooks. */
export interface Notebooks {
  readonly notebooks: NotebookService
  /** Separate hosts for notebooks; undefined: notebooks use the service's host. */
  readonly hosts: NotebookHosts | undefined
  /** For the health check: rejects when the configured cluster cannot be used. */
  checkCluster(): Promise<void | 'not_configured'>
  /** Checks the cluster for the first time, and waits at most 3 s for it. */
  firstProbe(): Promise<void>
  startBackground(): void
  close(): Promise<void>
}

/** Maximum time that the start of the service waits for the cluster. */
const FIRST_PROBE_MS = 3000
const PROBE_MS = 30_000
const CULL_MS = 60_000
const ACTIVITY_TIMEOUT_MS = 5000
const TOUCH_MS = 15_000
const GONE_MS = 30_000

type NotebookSettings = Pick<Config, 'notebooks' | 'authMode' | 'basePath'>

/** Creates the notebook services for the configured cluster, if any. */
export function openNotebooks(config: NotebookSettings, parts: NotebookParts): Notebooks {
  const { overrides = {} } = parts
  const { cluster: access } = config.notebooks
  const nowMs = (): number => parts.now().getTime()
  const { gate, table, targets } = openCluster(config.notebooks, { ...parts, nowMs })
  const touches = createTouches({
    inTransaction: parts.state.inTransaction,
    nowMs,
    everyMs: TOUCH_MS,
    onError: (error) => parts.log.warn('notebook activity could not be written', { error }),
  })
  const lastSeen = (uid: string) => table.lastSeen(uid)
  const deps = { ...sharedDeps(config, parts), gate, lastSeen, targets, touches, lock: createKeyedLock() }
  const readActivity = createActivityReader({ fetch, nowMs, timeoutMs: ACTIVITY_TIMEOUT_MS })
  let culler: Loop | undefined
  return {
    notebooks: createNotebookService(deps),
    hosts: notebookHosts(config.notebooks),
    checkCluster: () => gate.check(),
    firstProbe: () => gate.probeWithin(FIRST_PROBE_MS),
    startBackground() {
      if (!access) return
      gate.start()
      table.start()
      culler = cullNotebooks({ ...deps, readActivity, everyMs: overrides.cullMs ?? CULL_MS })
    },
    async close() {
      gate.close()
      table.close()
      await culler?.stop()
      await touches.flush()
    },
  }
}

function notebookHosts({ isolation, hostTemplate }: Config['notebooks']): NotebookHosts | undefined {
  if (isolation === 'path') return undefined
  return hostTemplate === undefined ? LOCAL_NOTEBOOK_HOSTS : parseNotebookHosts(hostTemplate)
}

type ClusterParts = Pick<NotebookParts, 'log' | 'overrides'> & { readonly nowMs: () => number }

/** Creates the cluster gate, the table of pods and the finder of notebook targets. */
function openCluster(
  { cluster: access, namespace, address }: Config['notebooks'],
  { log, nowMs, overrides = {} }: ClusterParts,
) {
  const gate = createClusterGate({
    connect: access && (() => connectKubernetes({ access, namespace, runPlugin, ...definedAttempt(overrides) })),
    probeMs: overrides.probeMs ?? PROBE_MS,
    onChange: (next, problem) => reportCluster(log, next, problem),
  })
  const cluster = () => (gate.available() ? gate.cluster() : undefined)
  const table = createPodTable({
    cluster,
    nowMs,
    retryMs: Math.min(1000, overrides.probeMs ?? PROBE_MS),
    onError: (error) => log.warn('the notebook pods cannot be watched', { error }),
    onPod(pod) {
      // Reads its token now: its requests then need no cluster. After a failure the first request reads it.
      if (isReady(pod) && pod.deletedAt === undefined) targets.ofPod(pod).catch(() => undefined)
    },
  })
  const addressOf = overrides.addressOf ?? (address === 'pod-ip' ? byPodIp : byServiceName)
  const targets = createTargetFinder({ cluster, table, addressOf, nowMs })
  return { gate, table, targets }
}

/** Dependencies of the notebook service and the culler, apart from the cluster. */
function sharedDeps(
  { notebooks, authMode, basePath }: NotebookSettings,
  { state, tokens, catalog, now, log, randomBytes, overrides = {} }: NotebookParts,
) {
  const { cluster: _, namespace: __, idleMs, warningMs, hostTemplate: ___, isolation: ____, ...settings } = notebooks
  return {
    ...state,
    tokens,
    now,
    randomBytes,
    log,
    store: createNotebookStore(state.db),
    basePath,
    settings: { ...settings, idleMs: overrides.idleMs ?? idleMs, warningMs: overrides.warningMs ?? warningMs },
    podView: {
      // With authentication off, this service listens on loopback only, where pods cannot reach it.
      apiUrl: authMode === 'off' ? undefined : settings.apiUrl,
      catalogUri: settings.catalogUri,
    },
    catalog: () => configuredCatalog(catalog),
    waits: { pollMs: 100, goneMs: overrides.goneMs ?? GONE_MS },
  }
}

function definedAttempt({ attemptMs }: NotebookOverrides): { attemptMs?: number } {
  return attemptMs === undefined ? {} : { attemptMs }
}

function reportCluster(log: Logger, state: GateState, problem: string | undefined): void {
  if (state === 'ok') log.info('notebooks are available: the cluster responds')
  else log.warn('the cluster for notebooks cannot be used', { problem })
}

function configuredCatalog(catalog: CatalogService) {
  const { catalog_type: type, catalog_name: name, warehouse, uri } = catalog.describe()
  return { type: type ?? '', name: name ?? '', warehouse: warehouse ?? '', uri: uri ?? undefined }
}
