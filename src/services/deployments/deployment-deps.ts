import type { BLOCKING_TYPES } from '../../domain/deployments.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { RequestedEngine } from '../../maintenance/spark/choose-engine.ts'
import type { Engine } from '../../engines/engine.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { DeploymentHistoryStore } from '../../storage/stores/deployments/deployment-history-store.ts'
import type { DeploymentStore } from '../../storage/stores/deployments/deployment-store.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { PlanStore } from '../../storage/stores/operations/plan-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { CheckpointRoots } from '../../streaming/checkpoint/location.ts'
import type { Supervisor } from '../../streaming/supervision/supervisor.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentRules } from '../environments/environment-rules.ts'
import type { EventWriter } from '../events/event-log.ts'
import type { Logger } from '../logger.ts'
import type { CompiledVersion } from '../pipelines/pipeline-deps.ts'
import type { PipelineSpark } from '../pipelines/pipeline-engine.ts'

/** What deployments use of an environment's settings. */
export interface DeploymentSettings {
  /** As configured: secrets only as `env:NAME`. */
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  readonly deploy: 'manual' | 'on_arrival'
  readonly triggerInterval: string
  /** A path or URI as in `checkpoint_location`. */
  readonly checkpointRoot: string
  readonly maxFilesPerBatch: number
  readonly maxBytesPerBatch: number
  readonly engine: RequestedEngine
}

/** What keeps a version from running in an environment. */
export interface DeploymentProblem {
  readonly nodeId: string | null
  readonly parameter: string | null
  readonly code: string
  readonly message: string
  /** The object whose state blocks the deployment; null: the version itself, or nothing that has a name. */
  readonly blockedBy: BlockingObject | null
}

/** An object of the service that blocks a deployment. */
export interface BlockingObject {
  readonly type: (typeof BLOCKING_TYPES)[number]
  /** The name of a table, the id of others. */
  readonly id: string
}

/** A version for an environment: compiled, or the problems that prevent it. */
export type CompiledForEnvironment =
  | { readonly compiled: CompiledVersion; readonly problems?: undefined }
  | { readonly compiled?: undefined; readonly problems: readonly DeploymentProblem[] }

/** The version to compile, where, and for whom. */
export interface CompileRequest {
  readonly definitionId: string
  readonly versionId: string
  readonly environment: RunEnvironment
  readonly user: string
}

/** What planning a deployment needs; it only reads. */
export interface PlanDeps {
  readonly stores: LifecycleStores
  readonly deployments: DeploymentStore
  readonly history: DeploymentHistoryStore
  readonly pipelines: PipelineStore
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly spark: PipelineSpark
  readonly checkpointIo: FileIO
  readonly roots: () => CheckpointRoots
  readonly settings: (environment: RunEnvironment) => Promise<DeploymentSettings>
  /** The rules of an environment; in a transaction, use `readRules`. */
  readonly rules: (environment: RunEnvironment) => Promise<EnvironmentRules>
  readonly compile: (request: CompileRequest) => Promise<CompiledForEnvironment>
  readonly newId: IdSource
  readonly now: () => Date
}

/** How long the first batches of a new pipeline are watched. */
export interface WatchTimes {
  /** A pipeline with nothing to read for so long has started well, ms. */
  readonly idleMs: number
  /** A start that fails for so long because something cannot be reached is undone, ms. */
  readonly startMs: number
}

/** What carrying out a rollout needs. */
export interface RolloutDeps extends PlanDeps {
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly supervisor: Pick<Supervisor, 'runNow' | 'stop'>
  /** Releases the snapshots that were pinned for a deleted pipeline. */
  readonly unpin: (pipeline: PipelineRecord) => Promise<void>
  /** This process, which must hold the lease of a rollout to carry it out. */
  readonly instanceId: number
  readonly watch: WatchTimes
  /** Stops that this process has asked its supervisor for. */
  readonly stopRequests: Set<string>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** What the service for users needs. */
export interface DeploymentServiceDeps extends PlanDeps {
  readonly plans: PlanStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  /** Makes the worker look for new rollouts at once. */
  readonly wakeWorker: () => void
}
