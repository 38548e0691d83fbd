import { type Kysely, sql } from 'kysely'

import type { StateTables } from '../../schema.ts'
import type { Migration, MigrationContext } from '../migration.ts'

/** Pipeline definitions with their versions, approval requests and comments. */
export const lifecycle: Migration = {
  name: 'lifecycle',
  async up(db, context) {
    await createDefinitions(db, context)
    await createVersions(db, context)
    await createApprovals(db, context)
    await createComments(db, context)
  },
}

async function createDefinitions(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('pipeline_definitions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addColumn('revision', context.int64, (column) => column.notNull())
  await context.strict(table).execute()
}

async function createVersions(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('pipeline_versions')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('definition_id', 'text', (column) =>
      column.notNull().references('pipeline_definitions.id').onDelete('cascade'),
    )
    .addColumn('version', context.int64, (column) => column.notNull())
    .addColumn('format_version', context.int64, (column) => column.notNull())
    .addColumn('environment', 'text', (column) =>
      column.notNull().check(sql`environment in ('development', 'qa', 'uat', 'production', 'retired')`),
    )
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addColumn('node_count', context.int64, (column) => column.notNull())
    .addColumn('edge_count', context.int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    // Last, so that listings do not read through it.
    .addColumn('graph_json', 'text', (column) => column.notNull())
    .addUniqueConstraint('pipeline_versions_numbered', ['definition_id', 'version'])
  await context.strict(table).execute()
  await index(db, 'pipeline_versions', ['definition_id', 'environment', 'version'])
  await index(db, 'pipeline_versions', ['environment', 'definition_id'])
}

async function createApprovals(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('approval_requests')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('definition_id', 'text', (column) =>
      column.notNull().references('pipeline_definitions.id').onDelete('cascade'),
    )
    .addColumn('definition_name', 'text', (column) => column.notNull())
    .addColumn('version_id', 'text', (column) =>
      column.notNull().references('pipeline_versions.id').onDelete('cascade'),
    )
    .addColumn('version', context.int64, (column) => column.notNull())
    .addColumn('from_environment', 'text', (column) => column.notNull())
    .addColumn('to_environment', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull().check(sql`status in ('pending', 'approved', 'rejected')`))
    .addColumn('requested_by', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'text', (column) => column.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('decided_at', 'text')
    .addColumn('reason', 'text')
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addColumn('base_version_id', 'text')
    .addColumn('snapshot_json', 'text', (column) => column.notNull())
  await context.strict(table).execute()
  await index(db, 'approval_requests', ['status', 'id'])
  await index(db, 'approval_requests', ['definition_id'])
  await index(db, 'approval_requests', ['version_id'])
  await db.schema
    .createIndex('approval_requests_one_pending')
    .unique()
    .on('approval_requests')
    .column('version_id')
    .where(sql<boolean>`status = 'pending'`)
    .execute()
}

async function createComments(db: Kysely<StateTables>, context: MigrationContext): Promise<void> {
  const table = db.schema
    .createTable('approval_comments')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('request_id', 'text', (column) =>
      column.notNull().references('approval_requests.id').onDelete('cascade'),
    )
    .addColumn('author', 'text', (column) => column.notNull())
    .addColumn('comment', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
  await context.strict(table).execute()
  await index(db, 'approval_comments', ['request_id', 'id'])
}

async function index(db: Kysely<StateTables>, table: string, columns: readonly string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
