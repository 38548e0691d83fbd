import { type Kysely, sql } from 'kysely'

import type { StateTables } from '../schema.ts'
import type { Migration, MigrationContext } from './migration.ts'

/** Conversations with the agent, the changes that it proposed, and its token usage. */
export const agent: Migration = {
  name: 'agent',
  async up(db, context) {
    await createChats(db, context)
    await createTurns(db, context)
    await createActions(db, context)
    await createUsage(db, context)
  },
}

async function createChats(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('agent_chats')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('turn_count', context.int64, (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
  await context.strict(table).execute()
  await db.schema.createIndex('agent_chats_by_user_id_id').on('agent_chats').columns(['user_id', 'id']).execute()
}

async function createTurns(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('agent_turns')
    .addColumn('chat_id', 'text', (column) => column.notNull().references('agent_chats.id').onDelete('cascade'))
    .addColumn('seq', context.int64, (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('steps', context.int64, (column) => column.notNull())
    .addColumn('stop_reason', 'text', (column) => column.notNull())
    .addColumn('usage_json', 'text', (column) => column.notNull())
    .addColumn('duration_ms', context.int64, (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('prompt', 'text', (column) => column.notNull())
    .addColumn('response', 'text', (column) => column.notNull())
    .addColumn('pending_actions_json', 'text', (column) => column.notNull())
    // Last, so that reading the text of a chat does not read through it.
    .addColumn('tool_calls_json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('agent_turns_pk', ['chat_id', 'seq'])
  await context.strict(table).execute()
}

async function createActions(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('agent_actions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('chat_id', 'text')
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) =>
      column.notNull().check(sql`state in ('pending', 'running', 'done', 'failed', 'dismissed')`),
    )
    .addColumn('summary', 'text', (column) => column.notNull())
    .addColumn('arguments_json', 'text', (column) => column.notNull())
    .addColumn('plan_json', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('decided_at', 'text')
    .addColumn('finished_at', 'text')
    .addColumn('result_json', 'text')
    .addColumn('error_json', 'text')
    .addColumn('instance_id', context.int64)
  await context.strict(table).execute()
  await db.schema.createIndex('agent_actions_by_user_id_id').on('agent_actions').columns(['user_id', 'id']).execute()
  await db.schema.createIndex('agent_actions_by_state').on('agent_actions').columns(['state']).execute()
}

async function createUsage(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('agent_usage')
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('tokens', context.int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('agent_usage_pk', ['user_id', 'day'])
  await context.strict(table).execute()
}
