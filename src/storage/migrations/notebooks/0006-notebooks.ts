import type { Migration } from '../migration.ts'

/** Data about notebooks that the cluster does not have: their tokens, activity and announced stops. */
export const notebooks: Migration = {
  name: 'notebooks',
  async up(db, context) {
    const table = db.schema
      .createTable('notebook_sessions')
      .addColumn('user_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('session', 'text', (column) => column.notNull())
      .addColumn('pod_name', 'text', (column) => column.notNull())
      .addColumn('pod_uid', 'text', (column) => column.notNull())
      .addColumn('token_id', 'text')
      .addColumn('token_expires_at', 'text')
      .addColumn('started_at', 'text', (column) => column.notNull())
      .addColumn('active_at', 'text', (column) => column.notNull())
      .addColumn('stops_at', 'text')
    await context.strict(table).execute()
  },
}
