import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Maintenance policies, what they decided, and what they know of each table. */
export const policies: Migration = {
  name: 'policies',
  async up(db, context) {
    await createPolicies(db, context)
    await createDecisions(db, context)
    await createStates(db, context)
    await db.schema.createIndex('operations_by_request_id').on('operations').column('request_id').execute()
  },
}

async function createPolicies(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const table = db.schema
    .createTable('policies')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('settings_json', 'text', (column) => column.notNull())
    .addColumn('managed_by', 'text')
    .addColumn('revision', int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
  await strict(table).execute()
}

async function createDecisions(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const decisions = db.schema
    .createTable('policy_decisions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('policy_id', 'text', (column) => column.notNull().references('policies.id').onDelete('cascade'))
    .addColumn('policy_name', 'text', (column) => column.notNull())
    .addColumn('table_name', 'text', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('detail', 'text', (column) => column.notNull())
    .addColumn('operation_id', 'text')
    .addColumn('instance_id', int64)
    .addColumn('planned_bytes', int64)
    .addColumn('projected_score', int64)
    .addColumn('score_before', int64)
    .addColumn('score_after', int64)
    .addColumn('files_removed', int64)
    .addColumn('delete_files_removed', int64)
    .addColumn('bytes_freed', int64)
    .addColumn('bytes_rewritten', int64)
    .addColumn('not_before', 'text')
    .addColumn('repeated', int64, (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
  await strict(decisions).execute()
  await db.schema
    .createIndex('policy_decisions_by_policy')
    .on('policy_decisions')
    .columns(['policy_id', 'created_at', 'id'])
    .execute()
  await db.schema
    .createIndex('policy_decisions_running')
    .on('policy_decisions')
    .columns(['table_name'])
    .unique()
    .where(sql.ref('outcome'), '=', sql.lit('running'))
    .execute()
}

async function createStates(...[db, { int64, strict }]: Parameters<Migration['up']>): Promise<void> {
  const states = db.schema
    .createTable('policy_table_states')
    .addColumn('policy_id', 'text', (column) => column.notNull().references('policies.id').onDelete('cascade'))
    .addColumn('table_name', 'text', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('last_run_ms', int64)
    .addColumn('last_sequence', int64)
    .addColumn('considered_ms', int64)
    .addColumn('not_before_ms', int64)
    .addColumn('without_effect', int64, (column) => column.notNull())
    .addColumn('failures', int64, (column) => column.notNull())
    .addColumn('is_suspended', int64, (column) => column.notNull())
    .addColumn('decision_id', 'text')
    .addPrimaryKeyConstraint('policy_table_states_key', ['policy_id', 'table_name', 'operation'])
  await strict(states).execute()
}
