import { type Kysely, PostgresAdapter, sql, type Transaction } from 'kysely'

import type { SqlCatalogTables } from './tables.ts'

/** The server ends a transaction whose client has sent nothing for this long. */
const IDLE_MS = 10_000

/**
 * Runs work in a transaction on the catalog's database. A client that vanishes within the transaction keeps no rows locked: a
 * PostgreSQL server would wait for hours. The limit is set per transaction, because poolers refuse it per session.
 */
export function transact<T>(
  db: Kysely<SqlCatalogTables>,
  work: (tx: Transaction<SqlCatalogTables>) => Promise<T>,
): Promise<T> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return db.transaction().execute(async (tx) => {
    if (isPostgres) await sql`set local idle_in_transaction_session_timeout = ${sql.lit(IDLE_MS)}`.execute(tx)
    return work(tx)
  })
}
