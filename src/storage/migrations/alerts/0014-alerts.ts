import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Alert rules, the conditions that they know of, and their deliveries. */
export const alerts: Migration = {
  name: 'alerts',
  async up(db, context) {
    await createAlerts(db, context)
    await createConditions(db, context)
    await createDeliveries(db, context)
  },
}

async function createAlerts(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const table = db.schema
    .createTable('alerts')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('settings_json', 'text', (column) => column.notNull())
    .addColumn('silenced_until', 'text')
    .addColumn('since_seq', int64, (column) => column.notNull())
    .addColumn('managed_by', 'text')
    .addColumn('revision', int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
  await strict(table).execute()
}

async function createConditions(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const conditions = db.schema
    .createTable('alert_conditions')
    .addColumn('alert_id', 'text', (column) => column.notNull().references('alerts.id').onDelete('cascade'))
    .addColumn('condition_key', 'text', (column) => column.notNull())
    .addColumn('event_seq', int64, (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('due_ms', int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('alert_conditions_key', ['alert_id', 'condition_key'])
  await strict(conditions).execute()
  await db.schema
    .createIndex('alert_conditions_due')
    .on('alert_conditions')
    .columns(['due_ms'])
    .where(sql.ref('state'), '=', sql.lit('waiting'))
    .execute()
  const cooldowns = db.schema
    .createTable('alert_cooldowns')
    .addColumn('alert_id', 'text', (column) => column.notNull().references('alerts.id').onDelete('cascade'))
    .addColumn('object_key', 'text', (column) => column.notNull())
    .addColumn('notified_ms', int64, (column) => column.notNull())
    .addColumn('held_back', int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('alert_cooldowns_key', ['alert_id', 'object_key'])
  await strict(cooldowns).execute()
}

async function createDeliveries(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const deliveries = db.schema
    .createTable('alert_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('alert_id', 'text', (column) => column.notNull().references('alerts.id').onDelete('cascade'))
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
  await db.schema
    .createIndex('alert_deliveries_by_alert')
    .on('alert_deliveries')
    .columns(['alert_id', 'created_at', 'id'])
    .execute()
  await db.schema
    .createIndex('alert_deliveries_pending')
    .on('alert_deliveries')
    .columns(['next_attempt_at'])
    .where(sql.ref('state'), '=', sql.lit('pending'))
    .execute()
}
