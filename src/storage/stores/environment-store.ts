import type { Kysely, Selectable } from 'kysely'

import type { RunEnvironment } from '../../domain/environments.ts'
import type { EnvironmentSettings } from '../../schemas/environments.ts'
import { fromRequiredColumn, toRequiredColumn } from '../json-column.ts'
import type { EnvironmentsTable, StateTables } from '../schema.ts'

/** The stored settings of an environment. */
export interface EnvironmentRecord {
  readonly environment: RunEnvironment
  readonly settings: EnvironmentSettings
  /** The owner whose files describe it; undefined: people change it. */
  readonly managedBy: string | undefined
  /** Starts at 1; each change increases it by one. */
  readonly revision: number
  readonly updatedAt: string
}

export interface EnvironmentStore {
  /** The environments that were ever changed. */
  list(): Promise<readonly EnvironmentRecord[]>
  find(environment: RunEnvironment): Promise<EnvironmentRecord | undefined>
  /** Stores the next revision; false, with nothing changed, when another caller has stored it. */
  save(record: EnvironmentRecord): Promise<boolean>
}

/** Settings of environments in the state database. */
export function createEnvironmentStore(db: Kysely<StateTables>): EnvironmentStore {
  return {
    async list() {
      return (await db.selectFrom('environments').selectAll().execute()).map(fromRow)
    },
    async find(environment) {
      const query = db.selectFrom('environments').selectAll().where('environment', '=', environment)
      const row = await query.executeTakeFirst()
      return row && fromRow(row)
    },
    async save(record) {
      const { environment, revision } = record
      const row = toRow(record)
      if (revision === 1) {
        const insert = db.insertInto('environments').values(row)
        const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst()
        return result.numInsertedOrUpdatedRows === 1n
      }
      const update = db.updateTable('environments').set(row).where('environment', '=', environment)
      return (await update.where('revision', '=', revision - 1).executeTakeFirst()).numUpdatedRows === 1n
    },
  }
}

function toRow(record: EnvironmentRecord): EnvironmentsTable {
  return {
    environment: record.environment,
    settings_json: toRequiredColumn(record.settings),
    managed_by: record.managedBy ?? null,
    revision: record.revision,
    updated_at: record.updatedAt,
  }
}

function fromRow(row: Selectable<EnvironmentsTable>): EnvironmentRecord {
  return {
    environment: row.environment as RunEnvironment,
    settings: fromRequiredColumn<EnvironmentSettings>(row.settings_json),
    managedBy: row.managed_by ?? undefined,
    revision: row.revision,
    updatedAt: row.updated_at,
  }
}
