import type { Migration } from '../migration.ts'

/** Sign-in at an identity provider: sign-ins that have begun, and the sessions that last as long as a refresh token. */
export const signIn: Migration = {
  name: 'sign-in',
  async up(db, context) {
    await db.schema.alterTable('sessions').addColumn('groups_json', 'text').execute()
    const begun = db.schema
      .createTable('begun_sign_ins')
      .addColumn('state_sha256', 'text', (column) => column.primaryKey().notNull())
      .addColumn('browser_sha256', 'text', (column) => column.notNull())
      .addColumn('redirect_uri', 'text', (column) => column.notNull())
      .addColumn('return_to', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'text', (column) => column.notNull())
    await context.strict(begun).execute()
    const sessions = db.schema
      .createTable('provider_sessions')
      .addColumn('id_sha256', 'text', (column) =>
        column.primaryKey().notNull().references('sessions.id_sha256').onDelete('cascade'),
      )
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('provider_sid', 'text')
      .addColumn('sealed_refresh_token', 'text')
      .addColumn('refresh_at', 'text', (column) => column.notNull())
      .addColumn('access_ends_at', 'text', (column) => column.notNull())
      .addColumn('refreshing_until', 'text')
    await context.strict(sessions).execute()
    await db.schema.createIndex('provider_sessions_by_subject').on('provider_sessions').column('subject').execute()
  },
}
