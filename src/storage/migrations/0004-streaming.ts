import type { Migration } from './migration.ts'

/** Streaming pipelines: desired state, observed state, and the process that runs them. */
export const streaming: Migration = {
  name: 'streaming',
  async up(db, context) {
    const table = db.schema
      .createTable('streaming_pipelines')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('query_id', 'text', (column) => column.notNull())
      .addColumn('sources_json', 'text', (column) => column.notNull())
      .addColumn('sink_table', 'text', (column) => column.notNull())
      .addColumn('checkpoint_location', 'text', (column) => column.notNull().unique())
      .addColumn('trigger_interval', 'text', (column) => column.notNull())
      .addColumn('trigger_ms', context.int64, (column) => column.notNull())
      .addColumn('options_json', 'text', (column) => column.notNull())
      .addColumn('desired_state', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('error_json', 'text')
      .addColumn('warnings_json', 'text', (column) => column.notNull())
      .addColumn('positions_json', 'text')
      .addColumn('progress_json', 'text')
      .addColumn('definition_id', 'text')
      .addColumn('version_id', 'text')
      .addColumn('created_by', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('started_at', 'text')
      .addColumn('stopped_at', 'text')
      .addColumn('live_sink', 'text', (column) => column.unique())
      .addColumn('lease_owner', context.int64)
      .addColumn('lease_until_ms', context.int64)
    await context.strict(table).execute()
    for (const columns of [
      ['created_at', 'id'],
      ['desired_state', 'state'],
    ]) {
      const name = `streaming_pipelines_by_${columns.join('_')}`
      await db.schema.createIndex(name).on('streaming_pipelines').columns(columns).execute()
    }
  },
}
