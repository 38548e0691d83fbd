import type { Kysely } from 'kysely'

import { fromRequiredColumn, type StoredJson, toRequiredColumn } from '../json-column.ts'
import type { StateTables } from '../schema.ts'

export interface Setting {
  readonly value: StoredJson
  /** Starts at 1; each change increases it by one. */
  readonly revision: number
  readonly updatedAt: string
}

export interface SettingsStore {
  get(key: string): Promise<Setting | undefined>
  /**
   * Sets the value when the setting still has `expectedRevision` (0: it does not exist yet) and returns the new
   * revision; undefined, with nothing changed, when another caller has changed it.
   */
  set(key: string, value: StoredJson, options: SetOptions): Promise<number | undefined>
}

export interface SetOptions {
  readonly expectedRevision: number
  readonly now: Date
}

/** Settings in the state database: JSON values by key. */
export function createSettingsStore(db: Kysely<StateTables>): SettingsStore {
  return {
    async get(key) {
      const row = await db.selectFrom('settings').selectAll().where('key', '=', key).executeTakeFirst()
      return row && { value: fromRequiredColumn(row.value_json), revision: row.revision, updatedAt: row.updated_at }
    },
    async set(key, value, { expectedRevision, now }) {
      const revision = expectedRevision + 1
      const changed = { value_json: toRequiredColumn(value), revision, updated_at: now.toISOString() }
      if (expectedRevision === 0) {
        const insert = db.insertInto('settings').values({ key, ...changed })
        const result = await insert.onConflict((conflict) => conflict.column('key').doNothing()).executeTakeFirst()
        return result.numInsertedOrUpdatedRows === 1n ? revision : undefined
      }
      const update = db.updateTable('settings').set(changed)
      const result = await update.where('key', '=', key).where('revision', '=', expectedRevision).executeTakeFirst()
      return result.numUpdatedRows === 1n ? revision : undefined
    },
  }
}
