import type { RequestContext } from '../../domain/audit.ts'
import type { RunEnvironment } from '../../domain/environments.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { Engine } from '../../engines/engine.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { CheckpointRoots } from '../../streaming/checkpoint/location.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import type { GraphQuery } from '../../streaming/query/graph-query.ts'
import type { Supervisor } from '../../streaming/supervision/supervisor.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import type { EventWriter } from '../events/event-log.ts'
import type { PipelineSpark } from './pipeline-engine.ts'
import { appendPipelineEvent, type PipelineEventType } from './pipeline-events.ts'
import type { PipelineHistory } from './history/pipeline-history.ts'

/** A definition's version, compiled to run. */
export interface CompiledVersion {
  readonly definitionId: string
  readonly versionId: string
  readonly environment: RunEnvironment
  /** The environment's parameters: secrets only as `env:NAME`. */
  readonly parameters: ParameterValues
  readonly sources: readonly string[]
  readonly sink: string
  /** The id of the node that reads or writes a table, by the table's name. */
  readonly nodeOf: ReadonlyMap<string, string>
  readonly query: GraphQuery
}

/** What starting pipelines needs of versions; errors are those of the graph service. */
export interface RunnableVersions {
  /** Where a version runs. Throws `NOT_FOUND`, and `CONFLICT` for a retired one. */
  environmentOf(versionId: string): Promise<RunEnvironment>
  compileVersion(versionId: string, user: string, environment: RunEnvironment): Promise<CompiledVersion>
}

/** Who else depends on pipelines; each throws `CONFLICT` to refuse a user's change, in the transaction of that change. */
export interface PipelineOwners {
  requireStartable(tx: Tx, pipeline: Pick<PipelineRecord, 'id' | 'sinkTable'>): Promise<void>
  beforeStop(tx: Tx, id: string): Promise<void>
  requireDeletable(tx: Tx, id: string): Promise<void>
}

/** Policies that keep sinks compacted; errors are `DomainError` and name `maintain_sink`. */
export interface SinkPolicies {
  /** Throws when the policy of a sink cannot be created; changes nothing. */
  requirePossible(tx: Tx, table: string): Promise<void>
  /** Creates the policy of a sink that has none, in the transaction that starts its pipeline. */
  create(tx: Tx, sink: { readonly table: string; readonly context: RequestContext }): Promise<void>
}

export interface PipelineServiceDeps {
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly spark: PipelineSpark
  readonly store: PipelineStore
  readonly supervisor: Supervisor
  readonly history: PipelineHistory
  readonly checkpointIo: FileIO
  readonly roots: () => CheckpointRoots
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly newId: IdSource
  readonly now: () => Date
  readonly environments: Pick<EnvironmentService, 'list'>
  readonly versions: RunnableVersions
  readonly owners?: PipelineOwners
  readonly sinkPolicies?: SinkPolicies
  /** Releases the snapshots that were pinned in a source for a deleted pipeline. */
  readonly unpin?: (record: PipelineRecord) => Promise<void>
}

/** A change of a pipeline, for the audit log and the event log. */
export interface PipelineChange {
  readonly action: `pipeline.${string}`
  readonly event: PipelineEventType
  readonly pipeline: PipelineRecord
  readonly context: RequestContext
  readonly details?: Readonly<Record<string, string>>
}

/** Records a change in the audit log and the event log, in the transaction of the change. */
export async function recordPipelineChange(
  deps: Pick<PipelineServiceDeps, 'audit' | 'events'>,
  tx: Tx,
  { action, event, pipeline, context, details }: PipelineChange,
): Promise<void> {
  const object = { objectType: 'pipeline', objectId: pipeline.id } as const
  await deps.audit.record(tx, { ...context, action, ...object, ...(details ? { details } : {}) })
  await appendPipelineEvent(deps.events, tx, { type: event, pipeline, details })
}
