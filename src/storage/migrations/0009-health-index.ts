import type { Migration } from './migration.ts'

/** The latest health of every table, its samples over time, and leases for work that one process does for all. */
export const healthIndex: Migration = {
  name: 'health-index',
  async up(db, { int64, strict }) {
    const tables = db.schema
      .createTable('table_health')
      .addColumn('table_name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('namespace', 'text', (column) => column.notNull())
      .addColumn('table_uuid', 'text', (column) => column.notNull())
      .addColumn('metadata_location', 'text', (column) => column.notNull())
      .addColumn('measured_at', 'text', (column) => column.notNull())
      .addColumn('score', int64)
      .addColumn('band', 'text', (column) => column.notNull())
      .addColumn('problem', 'text')
      .addColumn('data_file_count', int64, (column) => column.notNull())
      .addColumn('total_size_bytes', int64, (column) => column.notNull())
      .addColumn('small_file_count', int64, (column) => column.notNull())
      .addColumn('delete_file_count', int64, (column) => column.notNull())
      .addColumn('deleted_ppm', int64, (column) => column.notNull())
      .addColumn('snapshot_count', int64, (column) => column.notNull())
      .addColumn('manifest_count', int64, (column) => column.notNull())
      .addColumn('partition_count', int64, (column) => column.notNull())
      .addColumn('record_count', int64, (column) => column.notNull())
      .addColumn('held_bytes', int64, (column) => column.notNull())
      .addColumn('sequence_number', int64, (column) => column.notNull())
      .addColumn('last_commit_ms', int64)
      .addColumn('freshness_target', 'text')
      .addColumn('freshness_ms', int64)
      .addColumn('is_stale', int64, (column) => column.notNull())
      .addColumn('is_unhealthy', int64, (column) => column.notNull())
      .addColumn('is_off', int64, (column) => column.notNull())
      .addColumn('actions_json', 'text', (column) => column.notNull())
    await strict(tables).execute()
    const samples = db.schema
      .createTable('table_health_samples')
      .addColumn('table_uuid', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('slot', 'text', (column) => column.notNull())
      .addColumn('at', 'text', (column) => column.notNull())
      .addColumn('score', int64, (column) => column.notNull())
      .addColumn('data_file_count', int64, (column) => column.notNull())
      .addColumn('total_size_bytes', int64, (column) => column.notNull())
      .addColumn('small_file_count', int64, (column) => column.notNull())
      .addColumn('delete_file_count', int64, (column) => column.notNull())
      .addColumn('snapshot_count', int64, (column) => column.notNull())
      .addPrimaryKeyConstraint('table_health_samples_key', ['table_uuid', 'kind', 'slot'])
    await strict(samples).execute()
    await db.schema
      .createIndex('table_health_samples_by_kind_at')
      .on('table_health_samples')
      .columns(['kind', 'at'])
      .execute()
    const leases = db.schema
      .createTable('leases')
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('owner', int64, (column) => column.notNull())
      .addColumn('until_ms', int64, (column) => column.notNull())
    await strict(leases).execute()
  },
}
