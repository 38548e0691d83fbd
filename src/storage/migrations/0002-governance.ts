import { type Kysely, sql } from 'kysely'

import type { StateTables } from '../schema.ts'
import type { Migration, MigrationContext } from './migration.ts'

/** Browser sessions, the audit log, the event log, webhooks and their deliveries, and the processes that run work. */
export const governance: Migration = {
  name: 'governance',
  async up(db, context) {
    await createAudit(db, context)
    await createEvents(db, context)
    await createSessions(db, context)
    await createWebhooks(db, context)
    await createInstances(db, context)
  },
}

async function createAudit(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const events = db.schema
    .createTable('audit_events')
    .addColumn('seq', context.int64, (column) => column.primaryKey().notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('actor', 'text')
    .addColumn('role', 'text')
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('object_type', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('details_json', 'text', (column) => column.notNull())
    .addColumn('prev_hash', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
  await context.strict(events).execute()
  await index(db, 'audit_events', ['actor', 'seq'])
  await index(db, 'audit_events', ['object_id', 'seq'])
  await index(db, 'audit_events', ['at', 'seq'])
  await index(db, 'audit_events', ['request_id'])
  const head = db.schema
    .createTable('audit_head')
    .addColumn('id', context.int64, (column) => column.primaryKey().notNull())
    .addColumn('seq', context.int64, (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('mac', 'text', (column) => column.notNull())
  await context.strict(head).execute()
  await appendOnly(db, context, 'audit_events')
}

async function createEvents(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('events')
    .addColumn('seq', context.int64, (column) => column.primaryKey().notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('object_type', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('data_json', 'text', (column) => column.notNull())
  await context.strict(table).execute()
}

async function createSessions(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('sessions')
    .addColumn('id_sha256', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('token_sha256', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
  await context.strict(table).execute()
  await index(db, 'sessions', ['last_used_at'])
}

async function createWebhooks(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const webhooks = db.schema
    .createTable('webhooks')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('types_json', 'text', (column) => column.notNull())
    .addColumn('secret', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('since_seq', context.int64, (column) => column.notNull())
  await context.strict(webhooks).execute()
  const deliveries = db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('webhook_id', 'text', (column) => column.notNull().references('webhooks.id').onDelete('cascade'))
    .addColumn('event_seq', context.int64, (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', context.int64, (column) => column.notNull())
    .addColumn('next_attempt_at', 'text')
    .addColumn('last_status', context.int64)
    .addColumn('last_error', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('finished_at', 'text')
    .addUniqueConstraint('webhook_deliveries_once', ['webhook_id', 'event_seq'])
  await context.strict(deliveries).execute()
  await index(db, 'webhook_deliveries', ['state', 'next_attempt_at'])
  await index(db, 'webhook_deliveries', ['webhook_id', 'created_at', 'id'])
}

/** Every process that ever used the database; distinguishes what a dead process left from what is running. */
async function createInstances(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('instances')
    .addColumn('id', context.int64, (column) => column.primaryKey().notNull())
    .addColumn('started_at', 'text', (column) => column.notNull())
  await context.strict(table).execute()
  await db.schema.alterTable('operations').addColumn('instance_id', context.int64).execute()
  await db.schema.alterTable('idempotency_keys').addColumn('instance_id', context.int64).execute()
  await db.schema.alterTable('idempotency_keys').addColumn('request_id', 'text').execute()
}

async function appendOnly(db: Kysely<StateTables>, context: MigrationContext, table: string): Promise<void> {
  if (context.int64 === 'integer') {
    for (const change of ['update', 'delete']) {
      const name = sql.ref(`${table}_no_${change}`)
      const body = sql`begin select raise(abort, 'the audit log is append-only'); end`
      await sql`create trigger ${name} before ${sql.raw(change)} on ${sql.table(table)} ${body}`.execute(db)
    }
    // "insert or replace" deletes without firing the delete trigger.
    await sql`create trigger ${sql.ref(`${table}_no_replace`)} before insert on ${sql.table(table)}
      when exists (select 1 from ${sql.table(table)} where seq = new.seq)
      begin select raise(abort, 'the audit log is append-only'); end`.execute(db)
    return
  }
  await sql`create function ${sql.ref(`${table}_refuse`)}() returns trigger language plpgsql as $$
    begin raise exception 'the audit log is append-only'; end $$`.execute(db)
  await sql`create trigger ${sql.ref(`${table}_append_only`)} before update or delete or truncate on ${sql.table(table)}
    for each statement execute function ${sql.ref(`${table}_refuse`)}()`.execute(db)
}

async function index(db: Kysely<StateTables>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
