import type { Kysely, Selectable } from 'kysely'

import type { PolicySettings } from '../../../schemas/policies.ts'
import { fromRequiredColumn, toRequiredColumn } from '../../json-column.ts'
import type { PoliciesTable } from '../../automation-schema.ts'
import type { StateTables } from '../../schema.ts'

/** A stored policy. */
export interface PolicyRecord {
  readonly id: string
  readonly settings: PolicySettings
  /** What the policy belongs to when it is kept in files; then only that changes it. */
  readonly managedBy: string | undefined
  /** Starts at 1; each change increases it by one. */
  readonly revision: number
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface PolicyStore {
  /** All policies, by name. */
  list(): Promise<readonly PolicyRecord[]>
  find(id: string): Promise<PolicyRecord | undefined>
  findByName(name: string): Promise<PolicyRecord | undefined>
  insert(record: PolicyRecord): Promise<void>
  /** Stores the next revision; false, with nothing changed, when another caller has stored it. */
  update(record: PolicyRecord): Promise<boolean>
  /** Removes it with its decisions. */
  delete(id: string): Promise<void>
}

/** Policies in the state database. */
export function createPolicyStore(db: Kysely<StateTables>): PolicyStore {
  const all = () => db.selectFrom('policies').selectAll()
  return {
    list: async () => (await all().orderBy('name').execute()).map(fromRow),
    async find(id) {
      const row = await all().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async findByName(name) {
      const row = await all().where('name', '=', name).executeTakeFirst()
      return row && fromRow(row)
    },
    async insert(record) {
      await db.insertInto('policies').values(toRow(record)).execute()
    },
    async update(record) {
      const query = db.updateTable('policies').set(toRow(record)).where('id', '=', record.id)
      return (await query.where('revision', '=', record.revision - 1).executeTakeFirst()).numUpdatedRows === 1n
    },
    async delete(id) {
      await db.deleteFrom('policies').where('id', '=', id).execute()
    },
  }
}

function toRow(record: PolicyRecord): Selectable<PoliciesTable> {
  return {
    id: record.id,
    name: record.settings.name,
    settings_json: toRequiredColumn(JSON.parse(JSON.stringify(record.settings))),
    managed_by: record.managedBy ?? null,
    revision: record.revision,
    created_by: record.createdBy,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}

function fromRow(row: Selectable<PoliciesTable>): PolicyRecord {
  return {
    id: row.id,
    settings: fromRequiredColumn<PolicySettings>(row.settings_json),
    managedBy: row.managed_by ?? undefined,
    revision: row.revision,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
