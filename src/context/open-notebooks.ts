import type { Config } from '../config/config.ts'
import { connectKubernetes } from '../notebooks/kubernetes/kubernetes-cluster.ts'
import { createClusterGate, type GateState } from '../notebooks/cluster-gate.ts'
import { createActivityReader } from '../notebooks/notebook-activity.ts'
import { type AddressOf, byPodIp, byServiceName, createTargetFinder } from '../notebooks/notebook-targets.ts'
import { type NotebookHosts, parseNotebookHosts } from '../notebooks/proxy/notebook-hosts.ts'
import { createPodTable } from '../notebooks/pod-table.ts'
import { runPlugin } from '../runtime/exec-plugin.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import type { Logger } from '../services/logger.ts'
import { createNotebookCuller, type NotebookCuller } from '../services/notebooks/notebook-culler.ts'
import { createNotebookService, type NotebookService } from '../services/notebooks/notebook-service.ts'
import { createTouches } from '../services/notebooks/notebook-touches.ts'
import { createTableLock } from '../services/table-lock.ts'
import type { TokenService } from '../services/token-service.ts'
import { createNotebookStore } from '../storage/notebook-store.ts'
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

/** What tests replace: where pods are, limits that nobody waits for in a test, and times in ms. */
export interface NotebookOverrides {
  readonly addressOf?: AddressOf
  readonly idleMs?: number
  readonly warningMs?: number
  readonly probeMs?: number
  readonly cullMs?: number
  readonly attemptMs?: number
  readonly goneMs?: number
}

/** Everything about notebooks. */
export interface Notebooks {
  readonly notebooks: NotebookService
  readonly culler: NotebookCuller
  /** Hosts of notebooks; undefined: they have none of their own. */
  readonly hosts: NotebookHosts | undefined
  /** For the health of the service: rejects when the cluster that is configured cannot be used. */
  checkCluster(): Promise<void | 'not_configured'>
  /** Asks the cluster a first time, but does not let a silent one hold up the start of the service. */
  look(): Promise<void>
  startBackground(): void
  close(): Promise<void>
}

/** The start of the service waits for the cluster no longer than this. */
const FIRST_LOOK_MS = 3000
const PROBE_MS = 30_000
const CULL_MS = 60_000
const ACTIVITY_TIMEOUT_MS = 5000
const TOUCH_MS = 15_000
const GONE_MS = 30_000

/** Notebooks on the cluster that is configured, if one is. */
export function openNotebooks(config: Pick<Config, 'notebooks' | 'authMode'>, parts: NotebookParts): Notebooks {
  const { state, tokens, catalog, now, log, randomBytes, overrides = {} } = parts
  const { cluster: access, namespace, idleMs, warningMs, hostTemplate, ...settings } = config.notebooks
  const nowMs = (): number => now().getTime()
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
    onError: (error) => log.warn('the pods of notebooks cannot be followed', { error }),
  })
  const addressOf = overrides.addressOf ?? (settings.address === 'pod-ip' ? byPodIp : byServiceName)
  const deps = {
    ...state,
    gate,
    tokens,
    now,
    randomBytes,
    log,
    store: createNotebookStore(state.db),
    settings: { ...settings, idleMs: overrides.idleMs ?? idleMs, warningMs: overrides.warningMs ?? warningMs },
    podView: {
      // With authentication off this service listens on loopback only: no pod reaches it, and no token is checked.
      apiUrl: config.authMode === 'off' ? undefined : settings.apiUrl,
      catalogUri: settings.catalogUri,
    },
    lastSeen: (uid: string) => table.lastSeen(uid),
    catalog: () => configuredCatalog(catalog),
    waits: { pollMs: 100, goneMs: overrides.goneMs ?? GONE_MS },
    targets: createTargetFinder({ cluster, table, addressOf, nowMs }),
    touches: createTouches({
      inTransaction: state.inTransaction,
      nowMs,
      everyMs: TOUCH_MS,
      onError: (error) => log.warn('activity in notebooks could not be written', { error }),
    }),
    lock: createTableLock(),
  }
  const readActivity = createActivityReader({ fetch, nowMs, timeoutMs: ACTIVITY_TIMEOUT_MS })
  const culler = createNotebookCuller({ ...deps, readActivity, everyMs: overrides.cullMs ?? CULL_MS })
  return {
    notebooks: createNotebookService(deps),
    culler,
    hosts: hostTemplate === undefined ? undefined : parseNotebookHosts(hostTemplate),
    async checkCluster() {
      if (gate.state() === 'not_configured') return 'not_configured'
      if (gate.state() === 'failing') throw new Error('the cluster cannot be used')
      return undefined
    },
    async look() {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, FIRST_LOOK_MS)
      await Promise.race([gate.probe(), late])
      clearTimeout(timer)
    },
    startBackground() {
      if (!access) return
      gate.start()
      table.start()
      culler.start()
    },
    async close() {
      gate.close()
      table.close()
      await culler.close()
      await deps.touches.flush()
    },
  }
}

function definedAttempt({ attemptMs }: NotebookOverrides): { attemptMs?: number } {
  return attemptMs === undefined ? {} : { attemptMs }
}

function reportCluster(log: Logger, state: GateState, problem: string | undefined): void {
  if (state === 'ok') log.info('notebooks are available: the cluster answers')
  else log.warn('the cluster for notebooks cannot be used', { problem })
}

function configuredCatalog(catalog: CatalogService) {
  const { catalog_type: type, catalog_name: name, warehouse, uri } = catalog.describe()
  return { type: type ?? '', name: name ?? '', warehouse: warehouse ?? '', uri: uri ?? undefined }
}
