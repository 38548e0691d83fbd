import { sql } from 'kysely'

import type { Migration } from '../migration.ts'

/** Tokens belong to a session of a notebook, and ended sessions are remembered so that a late start cannot record one. */
export const notebookTokens: Migration = {
  name: 'notebook-tokens',
  async up(db, context) {
    await db.schema.alterTable('tokens').addColumn('notebook_session', 'text').execute()
    await sql`
      update tokens
      set notebook_session = (
        select s.session from notebook_sessions s
        where s.user_id = tokens.user_id and (s.token_id = tokens.id or tokens.name = 'notebook ' || s.session)
      )
    `.execute(db)
    await db.schema
      .createIndex('tokens_by_notebook')
      .on('tokens')
      .columns(['user_id', 'notebook_session'])
      .where(sql<boolean>`notebook_session is not null`)
      .execute()
    const table = db.schema
      .createTable('notebook_ended_sessions')
      .addColumn('user_id', 'text', (column) => column.notNull())
      .addColumn('session', 'text', (column) => column.notNull())
      .addColumn('ended_at', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('notebook_ended_sessions_key', ['user_id', 'session'])
    await context.strict(table).execute()
  },
}
