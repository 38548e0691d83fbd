import type { Kysely } from 'kysely'

import type { StateTables } from '../schema.ts'
import type { Migration, MigrationContext } from './migration.ts'

/** Tokens, the operation ledger, plans, settings and idempotency keys. */
export const initial: Migration = {
  name: 'initial',
  async up(db, context) {
    await createTokens(db, context)
    await createOperations(db, context)
    await createPlans(db, context)
    await createSettings(db, context)
    await createIdempotencyKeys(db, context)
  },
}

async function createTokens(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('tokens')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('token_sha256', 'text', (column) => column.notNull().unique())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('revoked_at', 'text')
  await context.strict(table).execute()
}

async function createOperations(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('operations')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('table_name', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('requested_by', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('request_json', 'text', (column) => column.notNull())
    .addColumn('plan_json', 'text')
    .addColumn('progress_json', 'text')
    .addColumn('base_metadata_location', 'text')
    .addColumn('base_snapshot_id', 'text')
    .addColumn('staged_metadata_location', 'text')
    .addColumn('snapshot_id', 'text')
    .addColumn('cleanup_json', 'text')
    .addColumn('health_before_json', 'text')
    .addColumn('health_after_json', 'text')
    .addColumn('result_json', 'text')
    .addColumn('error_json', 'text')
    .addColumn('bytes_read', context.int64)
    .addColumn('bytes_written', context.int64)
    .addColumn('duration_ms', context.int64)
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text')
    .addColumn('finished_at', 'text')
  await context.strict(table).execute()
  await index(db, 'operations', ['created_at', 'id'])
  await index(db, 'operations', ['table_name', 'created_at', 'id'])
  await index(db, 'operations', ['state'])
}

async function createPlans(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('plans')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('table_name', 'text', (column) => column.notNull())
    .addColumn('base_metadata_location', 'text', (column) => column.notNull())
    .addColumn('request_json', 'text', (column) => column.notNull())
    .addColumn('plan_json', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
  await context.strict(table).execute()
  await index(db, 'plans', ['created_at'])
}

async function createSettings(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('settings')
    .addColumn('key', 'text', (column) => column.primaryKey().notNull())
    .addColumn('value_json', 'text', (column) => column.notNull())
    .addColumn('revision', context.int64, (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
  await context.strict(table).execute()
}

async function createIdempotencyKeys(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('idempotency_keys')
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('body_sha256', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('status', context.int64)
    .addColumn('headers_json', 'text')
    .addColumn('body', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_pk', ['user_id', 'idempotency_key'])
  await context.strict(table).execute()
  await index(db, 'idempotency_keys', ['created_at'])
}

async function index(db: Kysely<StateTables>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
