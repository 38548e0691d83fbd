import type { Kysely, Selectable } from 'kysely'

import { fromColumn, fromRequiredColumn, type StoredJson, toColumn, toRequiredColumn } from './json-column.ts'
import { decodeOptional } from './nullable.ts'
import type { PipelineState, StateTables, StreamingPipelinesTable } from './schema.ts'

/** How far one source of a pipeline is read; the snapshot id is text. */
export interface StoredPosition {
  readonly table: string
  readonly snapshotId: string
  readonly position: number
  readonly scanAllFiles: boolean
  readonly isComplete: boolean
}

export interface PipelineOptions {
  readonly onDelete: 'fail' | 'skip'
  readonly createSinkTable: boolean
  readonly maxFilesPerBatch: number
  readonly maxBytesPerBatch: number
}

/** A streaming pipeline as the state database keeps it. */
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
  readonly desiredState: 'running' | 'stopped'
  readonly state: PipelineState
  readonly error?: { readonly code: string; readonly message: string }
  readonly warnings: readonly string[]
  readonly positions?: readonly StoredPosition[]
  readonly progress?: StoredJson
  readonly definitionId?: string
  readonly versionId?: string
  readonly createdBy: string
  readonly createdAt: string
  readonly startedAt?: string
  readonly stoppedAt?: string
  readonly leaseOwner?: number
  readonly leaseUntilMs?: number
}

/** What a process that works on a pipeline tells of it; absent keys stay as they are. */
export interface PipelineUpdate {
  readonly state?: PipelineState
  readonly desiredState?: PipelineRecord['desiredState']
  /** `null`: there is none any more. */
  readonly error?: PipelineRecord['error'] | null
  readonly warnings?: readonly string[]
  readonly positions?: readonly StoredPosition[]
  readonly progress?: StoredJson
  readonly stoppedAt?: string
}

/** A process and how long it may work without renewing. */
export interface Lease {
  readonly owner: number
  /** ms since the epoch. */
  readonly untilMs: number
}

/** Streaming pipelines. States in which a pipeline lives: all but `stopped` and `failed`. */
export interface PipelineStore {
  /** Throws `DatabaseError` `UNIQUE_VIOLATION` when the sink or the checkpoint has a living pipeline. */
  insert(pipeline: PipelineRecord): Promise<void>
  /** Starts a pipeline that does not live anew, as `pipeline` says; false when it lives. Throws as `insert`. */
  revive(pipeline: PipelineRecord): Promise<boolean>
  find(id: string): Promise<PipelineRecord | undefined>
  findByCheckpoint(location: string): Promise<PipelineRecord | undefined>
  /** The pipeline that lives on a sink. */
  findLiveOn(sinkTable: string): Promise<PipelineRecord | undefined>
  /** Newest first. */
  list(): Promise<readonly PipelineRecord[]>
  /** Wants a pipeline stopped; false when it does not live, or is being stopped already. */
  requestStop(id: string): Promise<boolean>
  /** Writes what is known of a pipeline; false when `owner` does not hold its lease. */
  update(id: string, owner: number, update: PipelineUpdate): Promise<boolean>
  /** Ends a pipeline that nobody works on; false when somebody does. */
  settle(id: string, state: 'stopped' | 'failed', now: { readonly ms: number; readonly iso: string }): Promise<boolean>
  /** Pipelines that are wanted to run, or still to be stopped. */
  listLive(): Promise<readonly PipelineRecord[]>
  /** Pipelines that another process than `owner` works on. */
  listElsewhere(owner: number): Promise<readonly PipelineRecord[]>
  /** Takes the lease of a living pipeline when it is free, the owner's own, or that of `dead`. */
  claim(id: string, lease: Lease, claim: { readonly nowMs: number; readonly dead?: number }): Promise<boolean>
  /** Prolongs the leases that the owner holds; tells of which pipelines. */
  renew(lease: Lease, nowMs: number): Promise<readonly string[]>
  /** Gives a lease up. */
  release(id: string, owner: number): Promise<void>
  /** Forgets a pipeline that does not live; false when there is none, or it lives. */
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
    async requestStop(id) {
      const live = db.updateTable('streaming_pipelines').set({ desired_state: 'stopped', state: 'stopping' })
      const query = live.where('id', '=', id).where('state', 'in', LIVE).where('desired_state', '=', 'running')
      if ((await query.executeTakeFirst()).numUpdatedRows === 1n) return true
      const ended = db.updateTable('streaming_pipelines').set({ desired_state: 'stopped' }).where('id', '=', id)
      await ended.where('state', 'not in', LIVE).execute()
      return false
    },
    async update(id, owner, update) {
      const query = db.updateTable('streaming_pipelines').set(updateColumns(update)).where('id', '=', id)
      return (await query.where('lease_owner', '=', owner).executeTakeFirst()).numUpdatedRows === 1n
    },
    async settle(id, state, now) {
      const ended = { state, live_sink: null, lease_owner: null, lease_until_ms: null, stopped_at: now.iso }
      const query = db.updateTable('streaming_pipelines').set(ended).where('id', '=', id).where('state', 'in', LIVE)
      const free = query.where((where) =>
        where.or([where('lease_owner', 'is', null), where('lease_until_ms', '<=', now.ms)]),
      )
      return (await free.executeTakeFirst()).numUpdatedRows === 1n
    },
    async listLive() {
      const rows = await all().where('state', 'in', LIVE).orderBy('created_at').orderBy('id').execute()
      return rows.map(fromRow)
    },
    async listElsewhere(owner) {
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

function updateColumns(update: PipelineUpdate): Partial<StreamingPipelinesTable> {
  const { state, desiredState, error, warnings, positions, progress, stoppedAt } = update
  const ended = state === 'stopped' || state === 'failed'
  return {
    ...(state === undefined ? {} : { state }),
    ...(desiredState === undefined ? {} : { desired_state: desiredState }),
    ...(ended ? { live_sink: null, lease_owner: null, lease_until_ms: null } : {}),
    ...(error === undefined ? {} : { error_json: error === null ? null : toColumn(error) }),
    ...(warnings === undefined ? {} : { warnings_json: toRequiredColumn(warnings) }),
    ...(positions === undefined ? {} : { positions_json: toColumn(positions) }),
    ...(progress === undefined ? {} : { progress_json: toColumn(progress) }),
    ...(stoppedAt === undefined ? {} : { stopped_at: stoppedAt }),
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
  }
}

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
    desiredState: row.desired_state,
    state: row.state,
    warnings: fromRequiredColumn<readonly string[]>(row.warnings_json),
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...decodeOptional({
      error: fromColumn<{ code: string; message: string }>(row.error_json),
      positions: fromColumn<readonly StoredPosition[]>(row.positions_json),
      progress: fromColumn(row.progress_json),
      definitionId: row.definition_id,
      versionId: row.version_id,
      startedAt: row.started_at,
      stoppedAt: row.stopped_at,
      leaseOwner: row.lease_owner,
      leaseUntilMs: row.lease_until_ms,
    }),
  }
}
