import type { Migration } from './migration.ts'

/** Policies know which table had a name, and the index counts the commits of tables without sequence numbers. */
export const tableIdentity: Migration = {
  name: 'table-identity',
  async up(db, { int64 }) {
    await db.schema.alterTable('table_health').addColumn('newest_snapshot_ms', int64).execute()
    await db.schema.alterTable('policy_table_states').addColumn('table_uuid', 'text').execute()
    // tables without sequence numbers are measured again, because their commits were not counted
    await db
      .updateTable('table_health')
      .set({ metadata_location: '' })
      .where('sequence_number', '=', 0)
      .where('snapshot_count', '>', 0)
      .execute()
  },
}
