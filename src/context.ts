import type { RunLimits } from './agent/run-limits.ts'
import type { AppContext } from './app.ts'
import type { Config } from './config/config.ts'
import type { Env } from './config/env.ts'
import { openCatalogService } from './context/open-catalog.ts'
import { openAgent } from './context/open-agent.ts'
import { openIdentity } from './context/open-identity.ts'
import { openLifecycle } from './context/open-lifecycle.ts'
import { openMaintenance } from './context/open-maintenance.ts'
import { type NotebookOverrides, type Notebooks, openNotebooks } from './context/open-notebooks.ts'
import { openState } from './context/open-state.ts'
import { openStreaming, type StreamingSettings } from './context/open-streaming.ts'
import { openWebhooks } from './context/open-webhooks.ts'
import { createIdSource } from './domain/ids.ts'
import { createDuckDbEngine } from './engines/duckdb/duckdb-engine.ts'
import type { QueryLimits } from './engines/duckdb/query-limits.ts'
import { createDuckDbSandbox } from './engines/duckdb/duckdb-sandbox.ts'
import type { Engine } from './engines/engine.ts'
import { createLazyEngine } from './engines/lazy-engine.ts'
import type { Runtime } from './runtime/runtime.ts'
import type { CheckpointFile } from './services/audit-log.ts'
import type { CatalogService } from './services/catalog-service.ts'
import { makeDemoLakehouse } from './services/demo-lakehouse.ts'
import { followCatalogChanges } from './services/catalog-follower.ts'
import { createHealthService, type HealthService } from './services/health/health-service.ts'
import { createGraphService } from './services/graph-service.ts'
import { createIdempotencyService } from './services/idempotency-service.ts'
import type { Logger } from './services/logger.ts'
import type { MonitorSettings } from './services/monitor-service.ts'
import { createRefusalLog } from './services/refusals/refusal-log.ts'
import { createTokenService } from './services/token-service.ts'
import { createIdempotencyStore } from './storage/idempotency-store.ts'
import { createLifecycleStores } from './storage/lifecycle-stores.ts'
import { LocalFileIO } from './iceberg/io/local.ts'
import { createWriteProbe, isLocalFolder } from './services/health/write-probe.ts'
import { createOperationStore, type OperationStore } from './storage/operation-store.ts'
import { createTokenStore } from './storage/token-store.ts'
import type { MetricsHub } from './streaming/metrics-hub.ts'
import { VERSION } from './version.ts'

/** Places of the service's own state on this machine; the runtime prepares and holds them. */
export interface Home {
  /** Whether there was no state before this start. */
  readonly isNew: boolean
  readonly stateDatabase: string
  /** The embedded catalog, which other systems may open too. */
  readonly catalogDatabase: string
  /** SQLite files that no catalog may be: the state, and the lock. */
  readonly ownDatabases: readonly string[]
  /** The embedded warehouse, as a URI. */
  readonly warehouse: string
  readonly scratch: string
  /** Signs the end of the audit log; 32 secret bytes. */
  readonly auditKey: Uint8Array
  readonly auditCheckpoint: CheckpointFile
  readonly release: () => void
}

export interface ContextOptions {
  readonly config: Config
  readonly home: Home
  readonly env: Env
  readonly runtime: Runtime
  readonly log: Logger
  /** Replaces parts in tests. */
  readonly overrides?: {
    readonly now?: () => Date
    /** Wraps the engine, to make it misbehave. */
    readonly wrapEngine?: (engine: Engine) => Engine
    readonly webhookRetryDelaysMs?: readonly number[]
    readonly monitor?: Partial<MonitorSettings>
    readonly streaming?: StreamingSettings
    readonly notebooks?: NotebookOverrides
    readonly agentLimits?: Partial<RunLimits>
    readonly queryLimits?: Partial<QueryLimits>
  }
}

export interface Context {
  readonly app: Omit<AppContext, 'staticFiles'>
  /** News of streaming pipelines. */
  readonly hub: MetricsHub
  /** The token of the first start, to be shown once; undefined afterwards. */
  readonly firstToken: string | undefined
  /** Settles what a crash left in the ledger; to be done before requests are taken. */
  reconcile(): Promise<void>
  /** Starts what goes on without requests: webhooks, streaming pipelines. */
  startBackground(): void
  /** Makes the demo lakehouse when the state is new and the configuration asks for it. */
  makeDemo(): Promise<void>
  close(): Promise<void>
}

/** The only composition root: configuration and runtime in, services out. Throws when the state cannot be opened. */
export async function createContext(options: ContextOptions): Promise<Context> {
  const { config, home, runtime, log } = options
  const now = options.overrides?.now ?? (() => new Date())
  const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))
  const newId = createIdSource(() => now().getTime(), randomBytes)
  const state = await openState({ config, home, runtime, log, now })
  const { db, instance, inTransaction, audit, auditLog, feed } = state
  const idempotencyStore = createIdempotencyStore(db, instance)
  await idempotencyStore.settleAbandoned()
  const engine = openEngine(options)
  const catalog = await openCatalogService({ config, home, env: options.env, runtime, log, state, now })
  const common = { state, catalog, newId, now, log, randomBytes }
  const alone = config.databaseUrl === undefined
  const tokens = createTokenService({ ...common, tokens: createTokenStore(db), alone, inTransaction, audit })
  const { identity, handover } = openIdentity(config, { db, tokens, inTransaction, audit, now, log, randomBytes })
  const sandbox = createDuckDbSandbox({ command: runtime.workerCommand })
  const graphs = createGraphService({ ...state, stores: createLifecycleStores(db), catalog, sandbox })
  const { tables, operations, maintenance, reconciler } = openMaintenance({ ...common, graphs, engine })
  const { hub, pipelines, background, monitor } = openStreaming({
    ...common,
    home,
    graphs,
    engine,
    settings: options.overrides?.streaming,
    monitorSettings: options.overrides?.monitor,
  })
  const { webhooks, dispatcher } = openWebhooks(state, {
    ...common,
    allowPrivate: config.webhookAllowPrivate,
    send: runtime.createWebhookSender({ allowPrivate: config.webhookAllowPrivate }),
    retryDelaysMs: options.overrides?.webhookRetryDelaysMs,
  })
  const notebooks = openNotebooks(config, { ...common, tokens, overrides: options.overrides?.notebooks })
  await notebooks.look()
  const notebookUpstream = runtime.createNotebookUpstream()
  const lifecycle = openLifecycle(config, { state, newId, now })
  const agent = openAgent(
    { ...common, ...options, engine, sandbox, tables, maintenance, operations, pipelines, lifecycle },
    options.overrides?.agentLimits,
  )
  await agent.agentActions.settleAbandoned()
  const refusals = createRefusalLog({ inTransaction, audit, log, now })
  let stopFollowing = (): void => undefined
  const health = openHealth({ operations: createOperationStore(db), catalog, engine, notebooks, home })
  return {
    app: {
      version: VERSION,
      log,
      authMode: config.authMode,
      allowedOrigins: config.allowedOrigins,
      trustedProxies: config.trustedProxies,
      refusals,
      identity,
      auditLog,
      feed,
      webhooks,
      newRequestId: () => newId('req'),
      idempotency: createIdempotencyService(idempotencyStore, now),
      health,
      tokens,
      catalog,
      tables,
      maintenance,
      operations,
      monitor,
      pipelines,
      graphs,
      notebooks: notebooks.notebooks,
      notebookProxy: {
        targets: notebooks.notebooks,
        upstream: notebookUpstream,
        origins: notebooks.hosts && { hosts: notebooks.hosts, handover },
      },
      ...lifecycle,
      ...agent,
    },
    hub,
    firstToken: config.authMode === 'off' ? undefined : await tokens.ensureAdminToken(config.adminToken),
    reconcile: () => reconciler.run(),
    startBackground() {
      dispatcher.start()
      stopFollowing = followCatalogChanges({ catalog, feed, log })
      void background.start()
      notebooks.startBackground()
    },
    async makeDemo() {
      if (config.demo && home.isNew) await makeDemoLakehouse({ catalog: catalog.current(), engine, log })
    },
    async close() {
      stopFollowing()
      await agent.agent.shutDown()
      await Promise.all([operations.shutDown(), background.close()])
      await Promise.all([dispatcher.stop(), notebooks.close(), notebookUpstream.close()])
      await Promise.all([engine.close(), sandbox.close(), catalog.close()])
      await refusals.close()
      await state.close()
      home.release()
    },
  }
}

interface HealthParts {
  readonly operations: OperationStore
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly notebooks: Notebooks
  readonly home: Pick<Home, 'scratch'>
}

function openHealth({ operations, catalog, engine, notebooks, home }: HealthParts): HealthService {
  const probe = { io: new LocalFileIO(), nowMs: () => performance.now() }
  const probeHome = createWriteProbe(probe)
  const probeWarehouse = createWriteProbe(probe)
  return createHealthService({
    version: VERSION,
    startedAtMs: performance.now(),
    nowMs: () => performance.now(),
    checks: {
      state: async () => {
        await operations.list({}, { limit: 1 })
        return probeHome(home.scratch)
      },
      catalog: async () => {
        if (!catalog.describe().configured) return 'not_configured'
        const current = catalog.current()
        await current.ping()
        return isLocalFolder(current.warehouse) ? probeWarehouse(current.warehouse) : undefined
      },
      engine: () => engine.ping(),
      cluster: () => notebooks.checkCluster(),
    },
  })
}

function openEngine({ config, home, runtime, overrides }: ContextOptions): Engine {
  const { memoryLimitBytes, threads } = config.engine
  const engine = createLazyEngine('duckdb', () =>
    createDuckDbEngine({
      scratchDir: home.scratch,
      memoryLimitBytes,
      workerCommand: runtime.workerCommand,
      ...(threads === undefined ? {} : { threads }),
      ...(overrides?.queryLimits === undefined ? {} : { queryLimits: overrides.queryLimits }),
    }),
  )
  return overrides?.wrapEngine?.(engine) ?? engine
}
