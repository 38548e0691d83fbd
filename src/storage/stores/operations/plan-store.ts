import type { Kysely, Selectable } from 'kysely'

import { fromRequiredColumn, type StoredJson, toRequiredColumn } from '../../json-column.ts'
import type { PlansTable, StateTables } from '../../schema.ts'

/** How long a plan can be applied after its preview. */
export const PLAN_LIFETIME_MS = 24 * 60 * 60 * 1000

/** A previewed operation that a later request can apply exactly. */
export interface PlanRecord {
  readonly id: string
  readonly kind: string
  readonly table: string
  /** The plan is stale when the table's metadata location differs from this one. */
  readonly baseMetadataLocation: string
  readonly request: StoredJson
  readonly plan: StoredJson
  readonly createdBy: string
  readonly createdAt: string
}

export interface PlanStore {
  insert(plan: PlanRecord): Promise<void>
  /** The plan, unless it is older than {@link PLAN_LIFETIME_MS}. */
  find(id: string, now: Date): Promise<PlanRecord | undefined>
  /** Deletes expired plans and returns how many. */
  deleteExpired(now: Date): Promise<number>
}

/** Plans in the state database. */
export function createPlanStore(db: Kysely<StateTables>): PlanStore {
  return {
    async insert(plan) {
      await db.insertInto('plans').values(toRow(plan)).execute()
    },
    async find(id, now) {
      const query = db.selectFrom('plans').selectAll().where('id', '=', id).where('created_at', '>', oldest(now))
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    async deleteExpired(now) {
      const result = await db.deleteFrom('plans').where('created_at', '<=', oldest(now)).executeTakeFirst()
      return Number(result.numDeletedRows)
    },
  }
}

function oldest(now: Date): string {
  return new Date(now.getTime() - PLAN_LIFETIME_MS).toISOString()
}

function toRow(plan: PlanRecord): PlansTable {
  return {
    id: plan.id,
    kind: plan.kind,
    table_name: plan.table,
    base_metadata_location: plan.baseMetadataLocation,
    request_json: toRequiredColumn(plan.request),
    plan_json: toRequiredColumn(plan.plan),
    created_by: plan.createdBy,
    created_at: plan.createdAt,
  }
}

function fromRow(row: Selectable<PlansTable>): PlanRecord {
  return {
    id: row.id,
    kind: row.kind,
    table: row.table_name,
    baseMetadataLocation: row.base_metadata_location,
    request: fromRequiredColumn(row.request_json),
    plan: fromRequiredColumn(row.plan_json),
    createdBy: row.created_by,
    createdAt: row.created_at,
  }
}
