import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Indexes over the health index: worst tables first, page by page, and sums over all tables without reading their rows. */
export const healthIndexOrders: Migration = {
  name: 'health index orders',
  async up(db) {
    // the expression is that of `SORT_COLUMNS.score`
    await sql`create index table_health_by_score on table_health ((coalesce(score, -1)), table_name)`.execute(db)
    await db.schema
      .createIndex('table_health_totals')
      .on('table_health')
      .columns(['band', 'total_size_bytes', 'held_bytes', 'small_file_count', 'is_stale'])
      .execute()
  },
}
