import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Settings of environments, what each pipeline was started with, deployments and their history. */
export const environments: Migration = {
  name: 'environments',
  async up(db, context) {
    const settings = db.schema
      .createTable('environments')
      .addColumn('environment', 'text', (column) => column.primaryKey().notNull())
      .addColumn('settings_json', 'text', (column) => column.notNull())
      .addColumn('revision', context.int64, (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
    await context.strict(settings).execute()
    await db.schema.alterTable('streaming_pipelines').addColumn('environment', 'text').execute()
    await db.schema.alterTable('streaming_pipelines').addColumn('parameters_json', 'text').execute()
    const deployments = db.schema
      .createTable('deployments')
      .addColumn('definition_id', 'text', (column) =>
        column.notNull().references('pipeline_definitions.id').onDelete('cascade'),
      )
      .addColumn('environment', 'text', (column) =>
        column.notNull().check(sql`environment in ('development', 'qa', 'uat', 'production')`),
      )
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('desired_version_id', 'text')
      .addColumn('running_version_id', 'text')
      .addColumn('pipeline_id', 'text')
      .addColumn('reason', 'text')
      .addColumn('rollout_json', 'text')
      .addColumn('basis_json', 'text')
      .addColumn('revision', context.int64, (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      .addColumn('lease_owner', context.int64)
      .addColumn('lease_until_ms', context.int64)
      .addPrimaryKeyConstraint('deployments_key', ['definition_id', 'environment'])
    await context.strict(deployments).execute()
    const history = db.schema
      .createTable('deployment_history')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('definition_id', 'text', (column) =>
        column.notNull().references('pipeline_definitions.id').onDelete('cascade'),
      )
      .addColumn('environment', 'text', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('version_id', 'text')
      .addColumn('previous_version_id', 'text')
      .addColumn('parameters_json', 'text')
      .addColumn('reason', 'text')
      .addColumn('started_by', 'text', (column) => column.notNull())
      .addColumn('started_at', 'text', (column) => column.notNull())
      .addColumn('ended_at', 'text')
    await context.strict(history).execute()
    await db.schema
      .createIndex('deployment_history_by_definition_id_environment_id')
      .on('deployment_history')
      .columns(['definition_id', 'environment', 'id'])
      .execute()
  },
}
