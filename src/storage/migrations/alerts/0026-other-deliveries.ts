import { sql } from 'kysely'

import type { Migration } from '../migration.ts'

/**
 * The queue also takes deliveries that belong to no alert, such as events of OpenLineage: the reference to `alerts` goes. SQLite cannot
 * drop a reference, so the table is made again. Whoever deletes an alert deletes its deliveries.
 */
export const otherDeliveries: Migration = {
  name: 'other-deliveries',
  async up(db, { int64, strict }) {
    await sql`create table earlier_deliveries as select * from alert_deliveries`.execute(db)
    await db.schema.dropTable('alert_deliveries').execute()
    const deliveries = db.schema
      .createTable('alert_deliveries')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('alert_id', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('condition_key', 'text')
      .addColumn('event_seq', int64)
      .addColumn('held_back', int64, (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', int64, (column) => column.notNull())
      .addColumn('next_attempt_at', 'text')
      .addColumn('last_status', int64)
      .addColumn('last_error', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('finished_at', 'text')
      .addUniqueConstraint('alert_deliveries_once', ['alert_id', 'event_seq', 'kind'])
    await strict(deliveries).execute()
    const columns = sql.raw(`id, alert_id, kind, condition_key, event_seq, held_back, state, attempts, next_attempt_at,
      last_status, last_error, created_at, finished_at`)
    await sql`insert into alert_deliveries (${columns}) select ${columns} from earlier_deliveries`.execute(db)
    await sql`drop table earlier_deliveries`.execute(db)
    await addIndexes(db)
  },
}

async function addIndexes(db: Parameters<Migration['up']>[0]): Promise<void> {
  const byAlert = db.schema.createIndex('alert_deliveries_by_alert').on('alert_deliveries')
  await byAlert.columns(['alert_id', 'created_at', 'id']).execute()
  const isPending = [sql.ref('state'), '=', sql.lit('pending')] as const
  const pending = db.schema.createIndex('alert_deliveries_pending').on('alert_deliveries')
  await pending
    .columns(['next_attempt_at'])
    .where(...isPending)
    .execute()
  const conditions = db.schema.createIndex('alert_deliveries_pending_conditions').on('alert_deliveries')
  await conditions
    .columns(['alert_id', 'condition_key', 'event_seq'])
    .where(...isPending)
    .execute()
}
