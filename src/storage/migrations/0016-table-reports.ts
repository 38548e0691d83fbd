import type { Migration } from './migration.ts'

/** What clients of the Iceberg REST catalog report of their scans and commits. */
export const tableReports: Migration = {
  name: 'table reports',
  async up(db, { strict }) {
    const reports = db.schema
      .createTable('table_reports')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('table_name', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('reported_by', 'text', (column) => column.notNull())
      .addColumn('report_json', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
    await strict(reports).execute()
    await db.schema
      .createIndex('table_reports_by_table')
      .on('table_reports')
      .columns(['table_name', 'created_at', 'id'])
      .execute()
  },
}
