import type { Dialect } from 'kysely'

import type { RunLimits } from '../agent/loop/run-limits.ts'
import type { AppContext } from '../app.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { secretReader } from '../config/secret-reader.ts'
import { checkpointRoots } from './checkpoint-roots.ts'
import { openCatalogService } from './open-catalog.ts'
import { openAgent } from './open-agent.ts'
import { type DeploymentTimes, openDeployments } from './open-deployments.ts'
import { type AutomationTimes, openAutomation } from './open-automation.ts'
import { openEngine, openSpark } from './open-engines.ts'
import { openIdentity } from './open-identity.ts'
import { openLifecycle } from './open-lifecycle.ts'
import { openLineage, openOpenLineage } from './open-lineage.ts'
import { openMetrics } from './open-metrics.ts'
import { openMaintenance } from './open-maintenance.ts'
import { type NotebookOverrides, type Notebooks, openNotebooks } from './open-notebooks.ts'
import { openState } from './open-state.ts'
import { openSparkStreams } from './open-spark-streams.ts'
import { openStreaming, type StreamingSettings } from './open-streaming.ts'
import { followGrants, openAccess } from './open-access.ts'
import { openAlerts } from './open-alerts.ts'
import { createIdSource } from '../domain/ids.ts'
import { sweepScratch } from '../engines/duckdb/session/scratch.ts'
import type { QueryLimits } from '../engines/duckdb/worker/query-limits.ts'
import { createDuckDbSandbox } from '../engines/duckdb/worker/sandbox.ts'
import type { WorkerCommand } from '../engines/duckdb/worker/worker-command.ts'
import { createHttpSender } from '../services/outbound/http-sender.ts'
import { createSmtpSender } from '../services/outbound/smtp-sender.ts'
import type { Engine } from '../engines/engine.ts'
import { type Closings, createClosings } from '../lib/closings.ts'
import type { Loop } from '../lib/start-loop.ts'
import { createNotebookUpstream } from '../notebook-proxy/http/upstream-client.ts'
import type { CheckpointFile } from '../services/audit/audit-log.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { TestLimits } from '../services/catalogs/connection-test/run-checks.ts'
import type { PolicyService } from '../services/policies/policy-service.ts'
import { makeDemoPolicy } from '../services/policies/demo-policy.ts'
import { createDemo, type Demo } from '../services/catalogs/demo.ts'
import { makeDemoLakehouse } from '../services/catalogs/demo-lakehouse.ts'
import { followCatalogChanges } from '../services/catalogs/catalog-follower.ts'
import { createHealthService, type HealthService } from '../services/health/health-service.ts'
import { createEnvironmentService } from '../services/environments/environment-service.ts'
import { createMetricsAccess } from '../services/metrics/access.ts'
import { createGraphService } from '../services/lifecycle/graph-service.ts'
import type { LockTimes } from '../services/tables/table-lock.ts'
import { createIdempotencyService } from '../services/operations/idempotency-service.ts'
import { createTotalsSource } from '../maintenance/inspection/totals/totals-source.ts'
import { createFilePlanner } from '../services/query/plan-files.ts'
import { createQueryService } from '../services/query/query-service.ts'
import type { Logger } from '../services/logger.ts'
import type { MonitorSettings } from '../services/pipelines/monitor-service.ts'
import { createRefusalLog } from '../services/audit/refusal-log.ts'
import { createTokenService } from '../services/identity/token-service.ts'
import { createIdempotencyStore } from '../storage/stores/idempotency-store.ts'
import { createEnvironmentStore } from '../storage/stores/environment-store.ts'
import { createLifecycleStores } from '../storage/stores/lifecycle-stores.ts'
import { createServiceChecks } from '../services/health/service-checks.ts'
import { createOperationStore, type OperationStore } from '../storage/stores/operations/operation-store.ts'
import { createTokenStore } from '../storage/stores/token-store.ts'
import type { MetricsHub } from '../streaming/supervision/metrics-hub.ts'
import { VERSION } from '../config/version.ts'

/** Local paths of the service's state; the runtime prepares them and holds the lock. */
export interface Home {
  /** Whether this start created the state. */
  readonly isNew: boolean
  readonly stateDatabase: string
  /** The embedded catalog; other systems may open it too. */
  readonly catalogDatabase: string
  /** SQLite files that must not be used as a catalog: the state and the lock. */
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
  /** A Kysely dialect over the SQLite file of the state. */
  readonly openStateFile: (path: string) => Dialect
  readonly log: Logger
  /** Starts the processes that run user SQL; default: the worker script, with the runtime of this process. */
  readonly workerCommand?: WorkerCommand
  /** Replaces parts in tests. */
  readonly overrides?: {
    readonly now?: () => Date
    /** Wraps the engine, to simulate failures. */
    readonly wrapEngine?: (engine: Engine) => Engine
    readonly deliveryRetryDelaysMs?: readonly number[]
    readonly monitor?: Partial<MonitorSettings>
    readonly streaming?: StreamingSettings
    readonly deployments?: DeploymentTimes
    readonly automation?: AutomationTimes
    /** Between two looks at open approval requests, ms. */
    readonly requestTickMs?: number
    readonly tableLocks?: Partial<LockTimes>
    readonly notebooks?: NotebookOverrides
    readonly agentLimits?: Partial<RunLimits>
    readonly queryLimits?: Partial<QueryLimits>
    readonly catalogCloseAfterMs?: number
    readonly catalogRetryMs?: number
    readonly connectionTestLimits?: TestLimits
  }
}

export interface Context {
  readonly app: Omit<AppContext, 'staticFiles'>
  /** Progress and state changes of streaming pipelines. */
  readonly hub: MetricsHub
  /** The administrator token created by the first start, to be shown once; undefined afterwards. */
  readonly firstToken: string | undefined
  /** Closes ledger entries left open by a crash. Call it before accepting requests. */
  reconcile(): Promise<void>
  /** Removes what a crash left in the scratch folder, and starts background work: alerts, streaming pipelines, notebooks. */
  startBackground(): void
  /** Creates the demo lakehouse when the state is new and the configuration enables it. */
  makeDemo(): Promise<void>
  close(): Promise<void>
}

/**
 * The only composition root: creates all services. Throws when the state cannot be opened; what was opened until then is
 * closed, and the home is released.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const closings = createClosings()
  closings.add(() => options.home.release())
  try {
    return await openContext(options, closings)
  } catch (error) {
    await closings.close().catch(() => undefined) // the first error says more
    throw error
  }
}

async function openContext(options: ContextOptions, closings: Closings): Promise<Context> {
  const { config, home, log } = options
  const foundation = await openFoundation(options, closings)
  const { state, catalog } = foundation.common
  const services = await openServices(options, foundation)
  const { hub, tokens, operations, background, alertDispatcher, notebooks, rollouts, automation } = services
  const loops: Loop[] = []
  const stopLoops = () => Promise.all(loops.map((loop) => loop.stop()))
  closings.add(
    () => alertDispatcher.stop(),
    () => notebooks.close(),
    () => services.notebookUpstream.close(),
  )
  closings.add(
    () => automation.close(),
    stopLoops,
    () => operations.shutDown(),
    () => background.close(),
  )
  closings.add(() => rollouts.close())
  closings.add(() => services.agent.agent.shutDown())
  closings.add(() => services.demo.settled()) // a demo that is made in part would stay so for good
  return {
    app: appContext(options, foundation, services),
    hub,
    firstToken: config.authMode === 'off' ? undefined : await tokens.ensureAdminToken(config.adminToken),
    reconcile: () => services.reconciler.run(),
    startBackground() {
      alertDispatcher.start()
      // the engine opens at its first use, which may come late
      void sweepScratch(home.scratch).catch((error: unknown) => log.warn('scratch folder not swept', { error }))
      loops.push(followCatalogChanges({ catalog, feed: state.feed, log }))
      if (config.databaseUrl !== undefined) loops.push(followGrants(foundation.access, log))
      void background.start()
      rollouts.start()
      automation.start()
      loops.push(services.startPurger(), services.lifecycle.startKeeper())
      notebooks.startBackground()
    },
    async makeDemo() {
      if (config.demo && home.isNew) await services.demo.create()
    },
    close: () => closings.close(),
  }
}

/** Parts that the services are created with. */
async function openFoundation(options: ContextOptions, closings: Closings) {
  const { config, home, openStateFile, log } = options
  const now = options.overrides?.now ?? (() => new Date())
  const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))
  const newId = createIdSource(() => now().getTime(), randomBytes)
  const metrics = await openMetrics(config, log)
  closings.add(() => metrics.tracing.close())
  const state = await openState({ config, home, openStateFile, log, now })
  closings.add(() => state.close())
  const idempotencyStore = createIdempotencyStore(state)
  await idempotencyStore.settleAbandoned()
  const idempotency = createIdempotencyService({ store: idempotencyStore, now, log })
  const refusals = createRefusalLog({ ...state, now, log })
  closings.add(
    () => idempotency.close(),
    () => refusals.close(),
  )
  const opened = await openCatalogService({ ...options, state, now, observe: metrics.observeCatalog })
  const { catalog, connectionTests } = opened
  closings.add(() => catalog.close())
  closings.add(() => connectionTests.close())
  const access = await openAccess(state, now)
  const engine = openEngine(options, metrics.tracing)
  metrics.connect({ state, engine, now })
  const sandbox = createDuckDbSandbox(options.workerCommand === undefined ? {} : { command: options.workerCommand })
  closings.add(
    () => engine.close(),
    () => sandbox.close(),
  )
  const planner = createFilePlanner()
  const totals = createTotalsSource()
  closings.add(() => totals.close())
  const spark = await openSpark(config)
  const streams = await openSparkStreams(config, catalog, spark)
  closings.add(
    () => streams.close(),
    () => spark?.close(),
  )
  return {
    access,
    connectionTests,
    common: { state, catalog, planner, totals, newId, now, log, randomBytes, prices: config.prices },
    engine,
    spark,
    streams,
    metrics,
    sandbox,
    queries: createQueryService({ ...state, catalog, engine, sandbox, planner, now }),
    idempotency,
    refusals,
  }
}

type Foundation = Awaited<ReturnType<typeof openFoundation>>

async function openServices(options: ContextOptions, foundation: Foundation) {
  const { common, engine, spark, metrics, sandbox } = foundation
  const { config, home, env, overrides } = options
  const { state, catalog } = common
  const { db, inTransaction, audit } = state
  const alone = config.databaseUrl === undefined
  const tokens = createTokenService({ ...common, tokens: createTokenStore(db), alone, inTransaction, audit })
  const identity = await openIdentity(config, { ...common, ...state, access: foundation.access, tokens })
  const definitions = openGraphs(options, { common, sandbox })
  const { environments, graphs, lineage } = definitions
  const upkeep = openMaintenance({
    quarantineDays: config.quarantineDays,
    embeddedMaxBytes: config.engine.embeddedMaxBytes,
    spark,
    ...common,
    ...definitions,
    engine,
    lockTimes: overrides?.tableLocks,
    onOperation: metrics.onOperation,
  })
  const graphParts = { ...common, ...definitions, engine, spark: foundation.streams }
  const { parts, ...streamingServices } = openStreaming({
    ...graphParts,
    home,
    observer: metrics.batches,
    settings: overrides?.streaming,
    monitorSettings: overrides?.monitor,
  })
  const deploying = openDeployments({ ...graphParts, parts, times: overrides?.deployments })
  const automation = openAutomation({ ...common, ...upkeep, times: overrides?.automation })
  const alerts = openNotifications(options, common)
  const notebooks = openNotebooks(config, { ...common, tokens, overrides: overrides?.notebooks })
  await notebooks.firstProbe()
  const lifecycle = openLifecycle(config, { ...common, graphs, engine, requestTickMs: overrides?.requestTickMs })
  const { pipelines } = streamingServices
  const { deployments } = deploying
  const agent = openAgent(
    { ...common, ...lifecycle, ...upkeep, config, env, engine, sandbox, environments, pipelines, deployments, lineage },
    overrides?.agentLimits,
  )
  await agent.agentActions.settleAbandoned()
  const demo = openDemo(options.log, { ...common, engine, policies: automation.policies })
  return {
    ...identity,
    ...upkeep,
    ...streamingServices,
    ...deploying,
    ...automation,
    ...alerts,
    tokens,
    ...definitions,
    notebooks,
    notebookUpstream: createNotebookUpstream(),
    lifecycle,
    agent,
    refusals: foundation.refusals,
    demo,
    health: openHealth({ operations: createOperationStore(db), catalog, engine, notebooks, home, demo }),
  }
}

interface DemoParts extends Pick<Foundation['common'], 'catalog' | 'newId'> {
  readonly engine: Engine
  readonly policies: PolicyService
}

function openDemo(log: Logger, { catalog, newId, engine, policies }: DemoParts): Demo {
  const steps = [
    () => makeDemoLakehouse({ catalog: catalog.current(), engine, log }),
    () => makeDemoPolicy(policies, newId('req')),
  ]
  return createDemo(steps, log)
}

function openNotifications({ config, env, overrides }: ContextOptions, common: Foundation['common']) {
  return openAlerts(common.state, {
    ...common,
    allowPrivate: config.webhookAllowPrivate,
    send: createHttpSender({ allowPrivate: config.webhookAllowPrivate }),
    mail: config.mail && createSmtpSender(config.mail),
    openLineage: openOpenLineage(config, common),
    secretOf: secretReader(env, config.configEnvAllow),
    retryDelaysMs: overrides?.deliveryRetryDelaysMs,
  })
}

function openGraphs(
  { config, env, home }: ContextOptions,
  { common, sandbox }: Pick<Foundation, 'common' | 'sandbox'>,
) {
  const { state, catalog } = common
  const { db } = state
  const secretOf = secretReader(env, config.configEnvAllow)
  const roots = checkpointRoots(home, catalog)
  const store = createEnvironmentStore(db)
  const environments = createEnvironmentService({ ...common, ...state, store, secretOf, roots })
  const graphs = createGraphService({
    ...state,
    stores: createLifecycleStores(db),
    catalog,
    sandbox,
    environments,
    hasSpark: config.spark !== undefined,
  })
  return { environments, graphs, lineage: openLineage({ ...common, sandbox, environments }) }
}

type Services = Awaited<ReturnType<typeof openServices>>

/** Arranges the services for the routes and the middleware. */
function appContext({ config, log }: ContextOptions, foundation: Foundation, services: Services): Context['app'] {
  const { state, catalog, newId } = foundation.common
  const { notebooks, notebookUpstream, handover } = services
  return {
    version: VERSION,
    basePath: config.basePath,
    log,
    authMode: config.authMode,
    allowedOrigins: config.allowedOrigins,
    trustedProxies: config.trustedProxies,
    refusals: services.refusals,
    identity: services.identity,
    signIn: services.signIn,
    auditLog: state.auditLog,
    feed: state.feed,
    alerts: services.alerts,
    queries: foundation.queries,
    newRequestId: () => newId('req'),
    idempotency: foundation.idempotency,
    health: services.health,
    metrics: foundation.metrics.service,
    tracing: config.traces === undefined ? undefined : foundation.metrics.tracing,
    metricsAccess: createMetricsAccess(config.metricsToken),
    tokens: services.tokens,
    access: foundation.access,
    catalog,
    connectionTests: foundation.connectionTests,
    tables: services.tables,
    healthIndex: services.healthIndex,
    lineage: services.lineage,
    policies: services.policies,
    maintenance: services.maintenance,
    icebergRest: services.icebergRest,
    reports: services.reports,
    quarantine: services.quarantine,
    operations: services.operations,
    savings: services.savings,
    monitor: services.monitor,
    pipelines: services.pipelines,
    graphs: services.graphs,
    environments: services.environments,
    deployments: services.deployments,
    approvedDeployments: services.approvedDeployments,
    notebooks: notebooks.notebooks,
    notebookProxy: {
      targets: notebooks.notebooks,
      upstream: notebookUpstream,
      basePath: config.basePath,
      origins: notebooks.hosts && { hosts: notebooks.hosts, handover, basePath: config.basePath },
    },
    ...services.lifecycle,
    ...services.agent,
  }
}

interface HealthParts {
  readonly operations: OperationStore
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly notebooks: Notebooks
  readonly home: Pick<Home, 'scratch'>
  readonly demo: Demo
}

function openHealth({ notebooks, home, demo, ...parts }: HealthParts): HealthService {
  const nowMs = (): number => performance.now()
  const checkCluster = () => notebooks.checkCluster()
  const checks = createServiceChecks({ ...parts, checkCluster, scratch: home.scratch, nowMs })
  return createHealthService({ version: VERSION, startedAtMs: nowMs(), nowMs, checks, isCreatingDemo: demo.isCreating })
}
