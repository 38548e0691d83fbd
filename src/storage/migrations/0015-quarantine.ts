import type { Migration } from './migration.ts'

/** Files that expiry and orphan removal took away, until they are restored or deleted for good. */
export const quarantine: Migration = {
  name: 'quarantine',
  async up(db, { int64, strict }) {
    const entries = db.schema
      .createTable('quarantine_entries')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('operation_id', 'text', (column) => column.notNull().unique())
      .addColumn('requested_by', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('table_name', 'text', (column) => column.notNull())
      .addColumn('table_uuid', 'text', (column) => column.notNull())
      .addColumn('history_json', 'text')
      .addColumn('snapshot_count', int64, (column) => column.notNull())
      .addColumn('file_count', int64, (column) => column.notNull())
      .addColumn('byte_count', int64, (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('held_until', 'text', (column) => column.notNull())
      .addColumn('problem', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('settled_at', 'text')
    await strict(entries).execute()
    await db.schema
      .createIndex('quarantine_entries_by_table')
      .on('quarantine_entries')
      .columns(['table_name', 'created_at', 'id'])
      .execute()
    await db.schema
      .createIndex('quarantine_entries_by_state')
      .on('quarantine_entries')
      .columns(['state', 'held_until'])
      .execute()
    const files = db.schema
      .createTable('quarantine_files')
      .addColumn('entry_id', 'text', (column) =>
        column.notNull().references('quarantine_entries.id').onDelete('cascade'),
      )
      .addColumn('location', 'text', (column) => column.notNull())
      .addColumn('held_at', 'text')
      .addColumn('size_bytes', int64, (column) => column.notNull())
      .addColumn('modified_at_ms', int64, (column) => column.notNull())
      .addPrimaryKeyConstraint('quarantine_files_key', ['entry_id', 'location'])
    await strict(files).execute()
  },
}
