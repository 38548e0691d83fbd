import type { Kysely, Selectable } from 'kysely'

import type { AlertRequest } from '../../../schemas/alerts.ts'
import type { AlertsTable } from '../../automation-schema.ts'
import { fromRequiredColumn, toRequiredColumn } from '../../json-column.ts'
import type { StateTables } from '../../schema.ts'

/** A stored alert rule. */
export interface AlertRecord {
  readonly id: string
  /** With the secrets of its channel. */
  readonly settings: AlertRequest
  readonly silencedUntil: string | undefined
  /** Events up to this one are evaluated. */
  readonly sinceSeq: number
  /** What the alert belongs to when it is kept in files; then only that changes it. */
  readonly managedBy: string | undefined
  /** Starts at 1; each change of the settings increases it by one. */
  readonly revision: number
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
}

export interface AlertStore {
  /** All alerts, by name. */
  list(): Promise<readonly AlertRecord[]>
  find(id: string): Promise<AlertRecord | undefined>
  findByName(name: string): Promise<AlertRecord | undefined>
  insert(record: AlertRecord): Promise<void>
  /** Stores the next revision; false, with nothing changed, when another caller has stored it. */
  update(record: AlertRecord): Promise<boolean>
  silence(id: string, until: string | undefined): Promise<void>
  /** Records that all alerts have seen the events up to `seq`. */
  advance(seq: number): Promise<void>
  /** Removes it with its conditions and deliveries. */
  delete(id: string): Promise<void>
}

/** Alert rules in the state database. */
export function createAlertStore(db: Kysely<StateTables>): AlertStore {
  const all = () => db.selectFrom('alerts').selectAll()
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
      await db.insertInto('alerts').values(toRow(record)).execute()
    },
    async update(record) {
      const { since_seq: _, silenced_until: __, ...row } = toRow(record)
      const query = db.updateTable('alerts').set(row).where('id', '=', record.id)
      return (await query.where('revision', '=', record.revision - 1).executeTakeFirst()).numUpdatedRows === 1n
    },
    async silence(id, until) {
      const change = { silenced_until: until ?? null }
      await db.updateTable('alerts').set(change).where('id', '=', id).execute()
    },
    async advance(seq) {
      await db.updateTable('alerts').set({ since_seq: seq }).where('since_seq', '<', seq).execute()
    },
    async delete(id) {
      await db.deleteFrom('alert_deliveries').where('alert_id', '=', id).execute()
      await db.deleteFrom('alerts').where('id', '=', id).execute()
    },
  }
}

function toRow(record: AlertRecord): Selectable<AlertsTable> {
  return {
    id: record.id,
    name: record.settings.name,
    settings_json: toRequiredColumn(record.settings),
    silenced_until: record.silencedUntil ?? null,
    since_seq: record.sinceSeq,
    managed_by: record.managedBy ?? null,
    revision: record.revision,
    created_by: record.createdBy,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}

function fromRow(row: Selectable<AlertsTable>): AlertRecord {
  return {
    id: row.id,
    settings: fromRequiredColumn<AlertRequest>(row.settings_json),
    silencedUntil: row.silenced_until ?? undefined,
    sinceSeq: row.since_seq,
    managedBy: row.managed_by ?? undefined,
    revision: row.revision,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
