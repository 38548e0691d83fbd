import { sql } from 'kysely'

import type { Migration } from '../migration.ts'

/** A condition remembers that it was sent, also while a later event of the condition waits. */
export const toldConditions: Migration = {
  name: 'told-conditions',
  async up(db, { int64 }) {
    await db.schema
      .alterTable('alert_conditions')
      .addColumn('is_told', int64, (column) => column.notNull().defaultTo(0))
      .execute()
    await sql`update alert_conditions set is_told = 1 where state = 'open'`.execute(db)
    await sql`update alert_conditions set state = 'open' where state = 'unsent'`.execute(db)
  },
}
