import type { Migration } from './migration.ts'

/** Policies know how many equality delete files a table has. */
export const equalityDeletes: Migration = {
  name: 'equality-deletes',
  async up(db, { int64 }) {
    await db.schema
      .alterTable('table_health')
      .addColumn('equality_delete_file_count', int64, (column) => column.notNull().defaultTo(0))
      .execute()
    // tables with deletes are measured again, because their kinds were not counted
    await db.updateTable('table_health').set({ metadata_location: '' }).where('delete_file_count', '>', 0).execute()
  },
}
