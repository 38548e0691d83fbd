import type { IdSource } from '../domain/ids.ts'
import type { RunEnvironment } from '../domain/environments.ts'
import type { Engine } from '../engines/engine.ts'
import type { Loop } from '../lib/start-loop.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import { followArrivals } from '../services/deployments/arrivals.ts'
import { type ApprovedDeployments, createApprovedDeployments } from '../services/deployments/approved-deployment.ts'
import { compileForEnvironment } from '../services/deployments/planning/compile-version.ts'
import type { DeploymentSettings, PlanDeps, WatchTimes } from '../services/deployments/deployment-deps.ts'
import { createDeploymentService, type DeploymentService } from '../services/deployments/deployment-service.ts'
import { watchGuards } from '../services/deployments/guard-watch.ts'
import { createRolloutWorker, type RolloutWorker } from '../services/deployments/rollout-worker.ts'
import type { EnvironmentService } from '../services/environments/environment-service.ts'
import type { GraphService } from '../services/lifecycle/graph-service.ts'
import type { Logger } from '../services/logger.ts'
import { createDeploymentHistoryStore } from '../storage/stores/deployments/deployment-history-store.ts'
import { createDeploymentStore } from '../storage/stores/deployments/deployment-store.ts'
import { createLeaseStore } from '../storage/stores/lease-store.ts'
import { createLifecycleStores } from '../storage/stores/lifecycle-stores.ts'
import { createPlanStore } from '../storage/stores/operations/plan-store.ts'
import type { PipelineSpark } from '../services/pipelines/pipeline-engine.ts'
import type { InTransaction } from '../storage/transactions.ts'
import type { LeaseTimes } from '../streaming/supervision/supervisor.ts'
import type { Streaming } from './open-streaming.ts'
import type { State } from './open-state.ts'

/** Times, shortened in tests. */
export interface DeploymentTimes extends Partial<WatchTimes> {
  readonly pollMs?: number
  readonly lease?: LeaseTimes
  /** Between two looks at deployments that may be rolled back by themselves, ms. */
  readonly guardTickMs?: number
  /** Wraps the transactions of rollouts, to simulate failures. */
  readonly wrapTransactions?: (inTransaction: InTransaction) => InTransaction
}

export interface DeploymentParts {
  readonly state: State
  readonly catalog: CatalogService
  readonly environments: EnvironmentService
  readonly graphs: GraphService
  readonly engine: Engine
  readonly spark: PipelineSpark
  readonly parts: Streaming['parts']
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly times?: DeploymentTimes | undefined
}

/** How long the first batches of a new pipeline are watched. */
const WATCH: WatchTimes = { idleMs: 10_000, startMs: 60_000 }

/** Deployments, and what carries them out from `start` to `close`. */
export interface Deployments {
  readonly deployments: DeploymentService
  readonly approvedDeployments: ApprovedDeployments
  readonly rollouts: { start(): void; close(): Promise<void> }
}

/** Creates the services for deployments; no rollout is carried out before `rollouts` is started. */
export function openDeployments(given: DeploymentParts): Deployments {
  const { state, catalog, environments, graphs, engine, parts, newId, now, log, times } = given
  const { db, inTransaction, audit, events, instance, feed } = state
  const plan: PlanDeps = {
    stores: createLifecycleStores(db),
    deployments: createDeploymentStore(db),
    history: createDeploymentHistoryStore(db),
    pipelines: parts.store,
    checkpointIo: parts.checkpointIo,
    roots: parts.roots,
    settings: (environment) => settingsOf(environments, environment),
    rules: (environment) => environments.rules(environment),
    compile: (request) => compileForEnvironment(graphs, request),
    catalog,
    engine,
    spark: given.spark,
    newId,
    now,
  }
  const watch = { idleMs: times?.idleMs ?? WATCH.idleMs, startMs: times?.startMs ?? WATCH.startMs }
  const { supervisor, unpin } = parts
  const common = { ...plan, inTransaction, audit, events, log }
  const { pollMs, lease } = times ?? {}
  const worker: RolloutWorker = createRolloutWorker({
    ...common,
    inTransaction: times?.wrapTransactions?.(inTransaction) ?? inTransaction,
    supervisor,
    unpin,
    watch,
    instance,
    pollMs,
    lease,
  })
  const wakeWorker = (): void => worker.wake()
  let loops: readonly Loop[] = []
  return {
    deployments: createDeploymentService({ ...common, plans: createPlanStore(db), wakeWorker }),
    approvedDeployments: createApprovedDeployments({ ...plan, graphs, environments }),
    rollouts: {
      start() {
        worker.start()
        const leases = createLeaseStore(db)
        loops = [
          followArrivals({ ...common, feed, wakeWorker }),
          watchGuards({ ...common, wakeWorker, leases, instance, guardTickMs: times?.guardTickMs }),
        ]
      },
      async close() {
        await Promise.all(loops.map((loop) => loop.stop()))
        await worker.close()
      },
    },
  }
}

async function settingsOf(environments: EnvironmentService, environment: RunEnvironment): Promise<DeploymentSettings> {
  const { parameters, deploy, defaults } = (await environments.get(environment)).value
  return {
    parameters,
    deploy,
    triggerInterval: defaults.trigger_interval,
    checkpointRoot: defaults.checkpoint_root,
    maxFilesPerBatch: defaults.max_files_per_batch,
    maxBytesPerBatch: defaults.max_bytes_per_batch,
    engine: defaults.engine,
  }
}
