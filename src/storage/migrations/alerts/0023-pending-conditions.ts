import { sql } from 'kysely'

import type { Migration } from '../migration.ts'

/** An index of pending deliveries by condition: the queue looks for an earlier one of each pending delivery. */
export const pendingConditions: Migration = {
  name: 'pending-conditions',
  async up(db) {
    await db.schema
      .createIndex('alert_deliveries_pending_conditions')
      .on('alert_deliveries')
      .columns(['alert_id', 'condition_key', 'event_seq'])
      .where(sql.ref('state'), '=', sql.lit('pending'))
      .execute()
  },
}
