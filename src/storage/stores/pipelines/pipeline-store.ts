import type { Kysely, Selectable } from 'kysely'

import type { RunEnvironment } from '../../../domain/environments.ts'
import type { ReadMode, SchemaChange, SinkWrite } from '../../../domain/pipelines/modes.ts'
import type { IntoBranch, PipelineProgress, StartFrom } from '../../../schemas/pipelines.ts'
import { fromColumn, fromRequiredColumn, toColumn, toRequiredColumn } from '../../json-column.ts'
import { decodeOptional } from '../../nullable.ts'
import type { PipelineState, StateTables, StreamingPipelinesTable } from '../../schema.ts'

/** The read position of one source of a pipeline; the snapshot id is text. */
export interface StoredPosition {
  readonly table: string
  readonly snapshotId: string
  readonly position: number
  readonly scanAllFiles: boolean
  readonly isComplete: boolean
}

export interface PipelineOptions {
  readonly onDelete: 'fail' | 'skip'
  /** Of a pipeline without a version; absent: appends. */
  readonly read?: ReadMode
  /** The same; absent: append. */
  readonly write?: SinkWrite
  /** Columns by which an inserted and a deleted row are an update, where changes are appended. */
  readonly updateKey?: readonly string[]
  /** What happens when its source gets a column; absent: it depends on who created the sink. */
  readonly onSchemaChange?: SchemaChange
  readonly createSinkTable: boolean
  readonly maxFilesPerBatch: number
  readonly maxBytesPerBatch: number
  /** Where reading begins, as requested; absent: it was not. */
  readonly from?: StartFrom
  /** The positions that follow from `from`, one per source; absent: with the current rows. */
  readonly start?: readonly StoredPosition[]
  /** The branch that gets the rows before `main`; absent: none. */
  readonly branch?: IntoBranch
  /** Tables that its lookup nodes read; absent: none. */
  readonly lookups?: readonly string[]
  /** Tables that get the rows that its check nodes divert; absent: none. */
  readonly diverts?: readonly string[]
}

/** What runs a pipeline. */
export type PipelineEngine = 'embedded' | 'spark'

/** A table as a query in Spark knows it; the query keeps this schema as long as it runs. */
export interface SparkQueryTable {
  readonly uuid: string
  readonly schemaId: number
}

/**
 * How to reach the query of a pipeline in Spark, stored before the query is started: a query can be reached only in the
 * session that started it. As long as a pipeline has this, Spark may run its query.
 */
export interface SparkQuery {
  /** The server, without the token. */
  readonly address: string
  readonly sessionId: string
  readonly userId: string
  /** Identifies the session in the server's process; absent before the first answer. */
  readonly serverSideSessionId?: string
  /** The operation that starts the query. */
  readonly operationId: string
  /** Spark's id of the run; absent until the start is confirmed. */
  readonly runId?: string
  /** The tables that it was started for, sources first, with the schemas that it uses. */
  readonly tables: readonly SparkQueryTable[]
}

/** Why a pipeline failed or retries. */
export interface PipelineRecordError {
  readonly code: string
  readonly message: string
  /** Failures in a row of a pipeline that retries. */
  readonly failures?: number
}

/** A streaming pipeline as stored in the state database. */
export interface PipelineRecord {
  readonly id: string
  readonly runId: string
  readonly queryId: string
  readonly sources: readonly string[]
  readonly sinkTable: string
  readonly checkpointLocation: string
  readonly triggerInterval: string
  readonly triggerMs: number
  readonly options: PipelineOptions
  readonly engine: PipelineEngine
  /** Absent: Spark certainly runs no query of it. */
  readonly spark?: SparkQuery
  readonly desiredState: 'running' | 'stopped'
  readonly state: PipelineState
  readonly error?: PipelineRecordError
  readonly warnings: readonly string[]
  readonly positions?: readonly StoredPosition[]
  readonly progress?: PipelineProgress
  readonly definitionId?: string
  readonly versionId?: string
  /** The environment of the version. */
  readonly environment?: RunEnvironment
  /** The environment's parameters at the start, as configured: secrets only as `env:NAME`. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>
  readonly createdBy: string
  readonly createdAt: string
  readonly startedAt?: string
  readonly stoppedAt?: string
  readonly leaseOwner?: number
  readonly leaseUntilMs?: number
}

/** What the process that runs a pipeline reports; absent keys stay unchanged. */
export interface PipelineUpdate {
  readonly state?: PipelineState
  readonly desiredState?: PipelineRecord['desiredState']
  /** `null` clears the error. */
  readonly error?: PipelineRecord['error'] | null
  readonly warnings?: readonly string[]
  readonly positions?: readonly StoredPosition[]
  readonly progress?: PipelineProgress
  readonly stoppedAt?: string
  /** `null`: Spark runs no query of it any more. */
  readonly spark?: SparkQuery | null
}

/** A process, and how long it may work without renewing its lease. */
export interface Lease {
  readonly owner: number
  /** ms since the epoch. */
  readonly untilMs: number
}

/** When a pipeline is settled. */
export interface SettledAt {
  readonly ms: number
  readonly iso: string
  readonly dead?: number
}

/** Streaming pipelines. A pipeline is live in all states but `stopped` and `failed`. */
export interface PipelineStore {
  /** Throws `DatabaseError` `UNIQUE_VIOLATION` when the sink or the checkpoint has a live pipeline. */
  insert(pipeline: PipelineRecord): Promise<void>
  /** Restarts a pipeline that is not live, with the given values; false when it is live. Throws as `insert`. */
  revive(pipeline: PipelineRecord): Promise<boolean>
  find(id: string): Promise<PipelineRecord | undefined>
  findByCheckpoint(location: string): Promise<PipelineRecord | undefined>
  /** The live pipeline of a sink. */
  findLiveOn(sinkTable: string): Promise<PipelineRecord | undefined>
  /** Newest first. */
  list(): Promise<readonly PipelineRecord[]>
  /** Requests a stop; false when the pipeline is not live, or already stopping. */
  requestStop(id: string): Promise<boolean>
  /** Writes reported values; false when `owner` does not hold the lease. */
  update(id: string, owner: number, update: PipelineUpdate): Promise<boolean>
  /**
   * Ends a pipeline that should stop and that no process runs, or only `dead`, which has certainly ended; false when one
   * does, it was started again, or Spark may still run its query.
   */
  settle(id: string, state: 'stopped' | 'failed', end: SettledAt): Promise<boolean>
  /** Pipelines that should run, or have not stopped yet. */
  listLive(): Promise<readonly PipelineRecord[]>
  /** Pipelines that run in other processes than `owner`. */
  listOfOtherInstances(owner: number): Promise<readonly PipelineRecord[]>
  /** Takes the lease of a live pipeline when it is free, the owner's own, or held by one of `dead`. */
  claim(id: string, lease: Lease, claim: { readonly nowMs: number; readonly dead?: number }): Promise<boolean>
  /** Renews the leases that the owner holds; returns the pipelines. */
  renew(lease: Lease, nowMs: number): Promise<readonly string[]>
  /** Notes a failure of a live pipeline; true when it is the first since it started or recovered. */
  noteFailure(id: string, nowMs: number): Promise<boolean>
  /** Pipelines that run again, and whose last noted failure was at `beforeMs` or earlier. */
  listSteady(beforeMs: number): Promise<readonly PipelineRecord[]>
  /** Ends what {@link noteFailure} noted; false when such a pipeline is not in {@link listSteady} any more. */
  noteRecovery(id: string, beforeMs: number): Promise<boolean>
  /** Releases a lease. */
  release(id: string, owner: number): Promise<void>
  /** Deletes a pipeline that is not live; false when there is none, or it is live. */
  delete(id: string): Promise<boolean>
}

const LIVE: readonly PipelineState[] = ['starting', 'running', 'degraded', 'stopping']

/** Streaming pipelines in the state database. */
export function createPipelineStore(db: Kysely<StateTables>): PipelineStore {
  const all = () => db.selectFrom('streaming_pipelines').selectAll()
  const one = async (query: ReturnType<typeof all>): Promise<PipelineRecord | undefined> => {
    const row = await query.executeTakeFirst()
    return row && fromRow(row)
  }
  return {
    async insert(pipeline) {
      await db.insertInto('streaming_pipelines').values(toRow(pipeline)).execute()
    },
    async revive(pipeline) {
      const { id, created_at: _, created_by: __, ...row } = toRow(pipeline)
      const query = db.updateTable('streaming_pipelines').set(row).where('id', '=', id)
      return (await query.where('state', 'not in', LIVE).executeTakeFirst()).numUpdatedRows === 1n
    },
    find: (id) => one(all().where('id', '=', id)),
    findByCheckpoint: (location) => one(all().where('checkpoint_location', '=', location)),
    findLiveOn: (sinkTable) => one(all().where('live_sink', '=', sinkTable)),
    async list() {
      const rows = await all().orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
      return rows.map(fromRow)
    },
    requestStop: (id) => requestStop(db, id),
    async update(id, owner, update) {
      const query = db.updateTable('streaming_pipelines').set(updateColumns(update)).where('id', '=', id)
      return (await query.where('lease_owner', '=', owner).executeTakeFirst()).numUpdatedRows === 1n
    },
    settle: (id, state, now) => settle(db, id, { state, now }),
    async listLive() {
      const rows = await all().where('state', 'in', LIVE).orderBy('created_at').orderBy('id').execute()
      return rows.map(fromRow)
    },
    async listOfOtherInstances(owner) {
      const rows = await all().where('lease_owner', 'is not', null).where('lease_owner', '!=', owner).execute()
      return rows.map(fromRow)
    },
    claim: (id, lease, { nowMs, dead }) => claim(db, id, { lease, nowMs, dead }),
    async renew({ owner, untilMs }, nowMs) {
      const held = db.updateTable('streaming_pipelines').set({ lease_until_ms: untilMs })
      await held.where('lease_owner', '=', owner).where('lease_until_ms', '>', nowMs).execute()
      const query = db.selectFrom('streaming_pipelines').select('id').where('lease_owner', '=', owner)
      return (await query.where('lease_until_ms', '>', nowMs).execute()).map(({ id }) => id)
    },
    ...failureNotes(db),
    async release(id, owner) {
      const free = { lease_owner: null, lease_until_ms: null }
      const query = db.updateTable('streaming_pipelines').set(free).where('id', '=', id)
      await query.where('lease_owner', '=', owner).execute()
    },
    async delete(id) {
      const query = db.deleteFrom('streaming_pipelines').where('id', '=', id).where('state', 'not in', LIVE)
      return (await query.executeTakeFirst()).numDeletedRows === 1n
    },
  }
}

type FailureNotes = Pick<PipelineStore, 'noteFailure' | 'listSteady' | 'noteRecovery'>

function failureNotes(db: Kysely<StateTables>): FailureNotes {
  return {
    async noteFailure(id, nowMs) {
      const noted = db.updateTable('streaming_pipelines').set({ degraded_at_ms: nowMs }).where('id', '=', id)
      if ((await noted.where('degraded_at_ms', 'is', null).executeTakeFirst()).numUpdatedRows === 1n) return true
      await noted.execute()
      return false
    },
    async listSteady(beforeMs) {
      const steady = db.selectFrom('streaming_pipelines').selectAll().where('state', '=', 'running')
      return (await steady.where('degraded_at_ms', '<=', beforeMs).execute()).map(fromRow)
    },
    async noteRecovery(id, beforeMs) {
      const running = db.updateTable('streaming_pipelines').set({ degraded_at_ms: null }).where('id', '=', id)
      const steady = running.where('state', '=', 'running').where('degraded_at_ms', '<=', beforeMs)
      return (await steady.executeTakeFirst()).numUpdatedRows === 1n
    },
  }
}

async function requestStop(db: Kysely<StateTables>, id: string): Promise<boolean> {
  const live = db.updateTable('streaming_pipelines').set({ desired_state: 'stopped', state: 'stopping' })
  const query = live.where('id', '=', id).where('state', 'in', LIVE).where('desired_state', '=', 'running')
  if ((await query.executeTakeFirst()).numUpdatedRows === 1n) return true
  const ended = db.updateTable('streaming_pipelines').set({ desired_state: 'stopped' }).where('id', '=', id)
  await ended.where('state', 'not in', LIVE).execute()
  return false
}

/** What only a live pipeline has. */
const NOT_LIVE = { live_sink: null, lease_owner: null, lease_until_ms: null, degraded_at_ms: null } as const

interface End {
  readonly state: 'stopped' | 'failed'
  readonly now: SettledAt
}

async function settle(db: Kysely<StateTables>, id: string, { state, now }: End): Promise<boolean> {
  const ended = { state, ...NOT_LIVE, stopped_at: now.iso }
  const query = db.updateTable('streaming_pipelines').set(ended).where('id', '=', id).where('state', 'in', LIVE)
  const free = query
    .where('desired_state', '=', 'stopped')
    .where('spark_json', 'is', null)
    .where((where) =>
      where.or([
        where('lease_owner', 'is', null),
        where('lease_until_ms', '<=', now.ms),
        ...(now.dead === undefined ? [] : [where('lease_owner', '=', now.dead)]),
      ]),
    )
  return (await free.executeTakeFirst()).numUpdatedRows === 1n
}

interface Claim {
  readonly lease: Lease
  readonly nowMs: number
  readonly dead: number | undefined
}

async function claim(db: Kysely<StateTables>, id: string, { lease, nowMs, dead }: Claim): Promise<boolean> {
  const taken = { lease_owner: lease.owner, lease_until_ms: lease.untilMs }
  const query = db.updateTable('streaming_pipelines').set(taken).where('id', '=', id).where('state', 'in', LIVE)
  const free = query.where((where) =>
    where.or([
      where('lease_owner', 'is', null),
      where('lease_until_ms', '<=', nowMs),
      where('lease_owner', 'in', dead === undefined ? [lease.owner] : [lease.owner, dead]),
    ]),
  )
  return (await free.executeTakeFirst()).numUpdatedRows === 1n
}

function endColumns(state: PipelineState | undefined): Partial<typeof NOT_LIVE> {
  return state === 'stopped' || state === 'failed' ? NOT_LIVE : {}
}

function updateColumns(update: PipelineUpdate): Partial<StreamingPipelinesTable> {
  const { state, desiredState, error, warnings, positions, progress, stoppedAt, spark } = update
  return {
    ...(state === undefined ? {} : { state }),
    ...(desiredState === undefined ? {} : { desired_state: desiredState }),
    ...endColumns(state),
    ...(error === undefined ? {} : { error_json: toColumn(error ?? undefined) }),
    ...(warnings === undefined ? {} : { warnings_json: toRequiredColumn(warnings) }),
    ...(positions === undefined ? {} : { positions_json: toColumn(positions) }),
    ...(progress === undefined ? {} : { progress_json: toColumn(progress) }),
    ...(stoppedAt === undefined ? {} : { stopped_at: stoppedAt }),
    ...(spark === undefined ? {} : { spark_json: toColumn(spark ?? undefined) }),
  }
}

function toRow(pipeline: PipelineRecord): StreamingPipelinesTable {
  return {
    id: pipeline.id,
    run_id: pipeline.runId,
    query_id: pipeline.queryId,
    sources_json: toRequiredColumn(pipeline.sources),
    sink_table: pipeline.sinkTable,
    checkpoint_location: pipeline.checkpointLocation,
    trigger_interval: pipeline.triggerInterval,
    trigger_ms: pipeline.triggerMs,
    options_json: toRequiredColumn(pipeline.options),
    desired_state: pipeline.desiredState,
    state: pipeline.state,
    error_json: toColumn(pipeline.error),
    warnings_json: toRequiredColumn(pipeline.warnings),
    positions_json: toColumn(pipeline.positions),
    progress_json: toColumn(pipeline.progress),
    definition_id: pipeline.definitionId ?? null,
    version_id: pipeline.versionId ?? null,
    created_by: pipeline.createdBy,
    created_at: pipeline.createdAt,
    started_at: pipeline.startedAt ?? null,
    stopped_at: pipeline.stoppedAt ?? null,
    live_sink: LIVE.includes(pipeline.state) ? pipeline.sinkTable : null,
    lease_owner: pipeline.leaseOwner ?? null,
    lease_until_ms: pipeline.leaseUntilMs ?? null,
    degraded_at_ms: null, // a new run has not failed yet
    environment: pipeline.environment ?? null,
    parameters_json: toColumn(pipeline.parameters),
    engine: pipeline.engine,
    spark_json: null, // a pipeline that starts has no query in Spark yet
  }
}

/** A progress that was stored before batches had checks. */
function withChecks(progress: PipelineProgress | null | undefined): PipelineProgress | null | undefined {
  return progress ? { ...NO_CHECKS, ...progress } : progress
}

const NO_CHECKS = { rows_diverted: 0, rows_dropped: 0, checks: [] } as const

function fromRow(row: Selectable<StreamingPipelinesTable>): PipelineRecord {
  return {
    id: row.id,
    runId: row.run_id,
    queryId: row.query_id,
    sources: fromRequiredColumn<readonly string[]>(row.sources_json),
    sinkTable: row.sink_table,
    checkpointLocation: row.checkpoint_location,
    triggerInterval: row.trigger_interval,
    triggerMs: row.trigger_ms,
    options: fromRequiredColumn<PipelineOptions>(row.options_json),
    engine: row.engine,
    desiredState: row.desired_state,
    state: row.state,
    warnings: fromRequiredColumn<readonly string[]>(row.warnings_json),
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...decodeOptional({
      error: fromColumn<PipelineRecordError>(row.error_json),
      positions: fromColumn<readonly StoredPosition[]>(row.positions_json),
      progress: withChecks(fromColumn(row.progress_json)),
      definitionId: row.definition_id,
      versionId: row.version_id,
      startedAt: row.started_at,
      stoppedAt: row.stopped_at,
      leaseOwner: row.lease_owner,
      leaseUntilMs: row.lease_until_ms,
      environment: row.environment as RunEnvironment | null,
      parameters: fromColumn<Readonly<Record<string, string | number | boolean>>>(row.parameters_json),
      spark: fromColumn<SparkQuery>(row.spark_json),
    }),
  }
}
