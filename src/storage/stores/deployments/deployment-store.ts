import type { Kysely, Selectable } from 'kysely'

import type { DeploymentBasis, RecordedState } from '../../../domain/deployments.ts'
import type { RunEnvironment } from '../../../domain/environments.ts'
import { fromColumn, toColumn } from '../../json-column.ts'
import type { KeyPageRequest } from '../../key-page.ts'
import { decodeOptional } from '../../nullable.ts'
import type { DeploymentsTable, StateTables } from '../../schema.ts'
import type { Lease } from '../pipelines/pipeline-store.ts'
import type { DeploymentGuard, Rollout } from './rollout-record.ts'

/** A definition in an environment. */
export interface DeploymentKey {
  readonly definitionId: string
  readonly environment: RunEnvironment
}

/** What should run and what runs of a definition in an environment. */
export interface DeploymentRecord extends DeploymentKey {
  readonly state: RecordedState
  readonly desiredVersionId?: string
  readonly runningVersionId?: string
  readonly pipelineId?: string
  readonly reason?: string
  readonly rollout?: Rollout
  readonly basis?: DeploymentBasis
  /** Absent: it is never rolled back by itself. */
  readonly guard?: DeploymentGuard
  /** 0: not stored yet. */
  readonly revision: number
  readonly updatedAt: string
  readonly leaseOwner?: number
  readonly leaseUntilMs?: number
}

/** A definition in an environment that has a version of it, or had a deployment. */
export interface DeploymentPlace extends DeploymentKey {
  readonly deployment: DeploymentRecord | undefined
}

export interface DeploymentFilter {
  readonly environment?: RunEnvironment | undefined
  readonly definitionId?: string | undefined
}

/** Deployments; one row per definition and environment, with the rollout in progress. */
export interface DeploymentStore {
  find(key: DeploymentKey): Promise<DeploymentRecord | undefined>
  /** Ordered by definition, newest first, then environment; one more than the limit when there are more. */
  list(filter: DeploymentFilter, page: KeyPageRequest): Promise<readonly DeploymentPlace[]>
  /** Deployments whose rollout has not ended. */
  listRollouts(): Promise<readonly DeploymentRecord[]>
  /** Deployments that may be rolled back by themselves. */
  listGuarded(): Promise<readonly DeploymentRecord[]>
  /** Ends the guard of a rollout; nothing when the deployment has another one. */
  endGuard(record: DeploymentRecord): Promise<void>
  /** Those of a definition. */
  listOf(definitionId: string): Promise<readonly DeploymentRecord[]>
  /** The deployment that a pipeline belongs to, also as part of its rollout. */
  findByPipeline(pipelineId: string): Promise<DeploymentRecord | undefined>
  /**
   * Writes a record over the revision that it was made from, and increases that by one; false when it was changed
   * meanwhile, or `owner` does not hold its lease. A record without a rollout has no lease.
   */
  save(record: DeploymentRecord, owner?: number): Promise<boolean>
  /** Takes the lease of a rollout when it is free, the owner's own, or held by `dead`. */
  claim(key: DeploymentKey, lease: Lease, claim: { readonly nowMs: number; readonly dead?: number }): Promise<boolean>
  /** Extends the leases that the owner holds. */
  renew(lease: Lease, nowMs: number): Promise<void>
  release(owner: number): Promise<void>
}

/** The key of a place in lists. */
export function placeKey({ definitionId, environment }: DeploymentKey): string {
  return `${definitionId}/${environment}`
}

/** Deployments in the state database. */
export function createDeploymentStore(db: Kysely<StateTables>): DeploymentStore {
  const all = () => db.selectFrom('deployments').selectAll()
  return {
    async find({ definitionId, environment }) {
      const query = all().where('definition_id', '=', definitionId).where('environment', '=', environment)
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    list: (filter, page) => list(db, filter, page),
    async listRollouts() {
      const query = all().where('rollout_json', 'is not', null)
      return (await query.orderBy('updated_at').orderBy('definition_id').execute()).map(fromRow)
    },
    async listGuarded() {
      return (await all().where('guard_json', 'is not', null).orderBy('definition_id').execute()).map(fromRow)
    },
    async endGuard({ definitionId, environment, guard }) {
      const update = db.updateTable('deployments').set({ guard_json: null }).where('definition_id', '=', definitionId)
      await update.where('environment', '=', environment).where('guard_json', '=', toColumn(guard)).execute()
    },
    async listOf(definitionId) {
      return (await all().where('definition_id', '=', definitionId).orderBy('environment').execute()).map(fromRow)
    },
    async findByPipeline(pipelineId) {
      const query = all().where((where) =>
        where.or([where('pipeline_id', '=', pipelineId), where('rollout_json', 'is not', null)]),
      )
      const records = (await query.execute()).map(fromRow)
      return records.find((record) => pipelinesOf(record).includes(pipelineId))
    },
    save: (record, owner) => save(db, record, owner),
    async claim(key, { owner, untilMs }, { nowMs, dead }) {
      const taken = { lease_owner: owner, lease_until_ms: untilMs }
      const query = db.updateTable('deployments').set(taken).where('definition_id', '=', key.definitionId)
      const free = query
        .where('environment', '=', key.environment)
        .where((where) =>
          where.or([
            where('lease_owner', 'is', null),
            where('lease_until_ms', '<=', nowMs),
            where('lease_owner', 'in', dead === undefined ? [owner] : [owner, dead]),
          ]),
        )
      return (await free.where('rollout_json', 'is not', null).executeTakeFirst()).numUpdatedRows === 1n
    },
    async renew({ owner, untilMs }, nowMs) {
      const held = db.updateTable('deployments').set({ lease_until_ms: untilMs }).where('lease_owner', '=', owner)
      await held.where('lease_until_ms', '>', nowMs).execute()
    },
    async release(owner) {
      const free = { lease_owner: null, lease_until_ms: null }
      await db.updateTable('deployments').set(free).where('lease_owner', '=', owner).execute()
    },
  }
}

function pipelinesOf({ pipelineId, rollout }: DeploymentRecord): readonly (string | undefined)[] {
  return [pipelineId, rollout?.previous?.id, rollout?.planned?.pipeline.id]
}

async function list(
  db: Kysely<StateTables>,
  { environment, definitionId }: DeploymentFilter,
  { limit, after }: KeyPageRequest,
): Promise<readonly DeploymentPlace[]> {
  const [afterDefinition = '', afterEnvironment = ''] = after?.split('/') ?? []
  const versions = db
    .selectFrom('pipeline_versions')
    .select(['definition_id as place_definition', 'environment as place_environment'])
    .where('environment', '<>', 'retired')
  const deployed = db
    .selectFrom('deployments')
    .select(['definition_id as place_definition', 'environment as place_environment'])
  const rows = await db
    .selectFrom(versions.union(deployed).as('places'))
    .leftJoin('deployments', (join) =>
      join
        .onRef('deployments.definition_id', '=', 'places.place_definition')
        .onRef('deployments.environment', '=', 'places.place_environment'),
    )
    .selectAll()
    .$if(environment !== undefined, (query) => query.where('place_environment', '=', environment ?? ''))
    .$if(definitionId !== undefined, (query) => query.where('place_definition', '=', definitionId ?? ''))
    .$if(after !== undefined, (query) =>
      query.where((where) =>
        where.or([
          where('place_definition', '<', afterDefinition),
          where.and([
            where('place_definition', '=', afterDefinition),
            where('place_environment', '>', afterEnvironment),
          ]),
        ]),
      ),
    )
    .orderBy('place_definition', 'desc')
    .orderBy('place_environment')
    .limit(limit + 1)
    .execute()
  return rows.map(({ place_definition, place_environment, ...row }) => ({
    definitionId: place_definition,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a check of the column holds it
    environment: place_environment as RunEnvironment,
    deployment: row.revision === null ? undefined : fromRow(row as Selectable<DeploymentsTable>),
  }))
}

async function save(db: Kysely<StateTables>, record: DeploymentRecord, owner: number | undefined): Promise<boolean> {
  const row = toRow(record)
  if (record.revision === 0) {
    const insert = db.insertInto('deployments').values({ ...row, lease_owner: null, lease_until_ms: null })
    const added = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
    return added.numInsertedOrUpdatedRows === 1n
  }
  const ended = record.rollout === undefined ? { lease_owner: null, lease_until_ms: null } : {}
  let query = db
    .updateTable('deployments')
    .set({ ...row, ...ended })
    .where('definition_id', '=', record.definitionId)
    .where('environment', '=', record.environment)
    .where('revision', '=', record.revision)
  if (owner !== undefined) query = query.where('lease_owner', '=', owner)
  return (await query.executeTakeFirst()).numUpdatedRows === 1n
}

function toRow(record: DeploymentRecord): Omit<DeploymentsTable, 'lease_owner' | 'lease_until_ms'> {
  return {
    definition_id: record.definitionId,
    environment: record.environment,
    state: record.state,
    desired_version_id: record.desiredVersionId ?? null,
    running_version_id: record.runningVersionId ?? null,
    pipeline_id: record.pipelineId ?? null,
    reason: record.reason ?? null,
    rollout_json: toColumn(record.rollout),
    basis_json: toColumn(record.basis),
    guard_json: toColumn(record.guard),
    revision: record.revision + 1,
    updated_at: record.updatedAt,
  }
}

function fromRow(row: Selectable<DeploymentsTable>): DeploymentRecord {
  return {
    definitionId: row.definition_id,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a check of the column holds it
    environment: row.environment as RunEnvironment,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `toRow` writes it
    state: row.state as RecordedState,
    revision: row.revision,
    updatedAt: row.updated_at,
    ...decodeOptional({
      desiredVersionId: row.desired_version_id,
      runningVersionId: row.running_version_id,
      pipelineId: row.pipeline_id,
      reason: row.reason,
      rollout: fromColumn<Rollout>(row.rollout_json),
      basis: fromColumn<DeploymentBasis>(row.basis_json),
      guard: fromColumn<DeploymentGuard>(row.guard_json),
      leaseOwner: row.lease_owner,
      leaseUntilMs: row.lease_until_ms,
    }),
  }
}
