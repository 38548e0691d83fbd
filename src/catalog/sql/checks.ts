import { type Kysely, sql } from 'kysely'
import type { CatalogChecks } from '../catalog-checks.ts'
import { query } from './query.ts'
import type { SqlCatalogTables } from './tables.ts'

/**
 * Checks of a catalog in a database. A database refuses an update without its permission, or in a read-only copy, also if
 * the update changes no row; so no row is changed.
 */
export function createSqlChecks(db: Kysely<SqlCatalogTables>, prepare: () => Promise<unknown>): CatalogChecks {
  return {
    async reach() {
      await query(() => sql`select 1`.execute(db))
      await prepare()
      return 'The database responds, and has the tables of a catalog.'
    },
    async commit() {
      const nothing = sql<boolean>`1 = 0`
      const unchanged = { metadata_location: sql<string>`metadata_location` }
      await query(() => db.updateTable('iceberg_tables').set(unchanged).where(nothing).execute())
      return { outcome: 'ok', detail: 'The database accepts updates of iceberg_tables; the check changed no row.' }
    },
  }
}
