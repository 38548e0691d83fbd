import type { Migration } from '../migration.ts'

/** Sessions transferred to the host of a notebook: first as a ticket, then as that host's own cookie. */
export const notebookHandovers: Migration = {
  name: 'notebook-handovers',
  async up(db, context) {
    const table = db.schema
      .createTable('notebook_handovers')
      .addColumn('secret_sha256', 'text', (column) => column.primaryKey().notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('session_sha256', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
    await context.strict(table).execute()
  },
}
