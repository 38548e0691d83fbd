import { type Kysely, PostgresAdapter, sql, type Transaction } from 'kysely'

import type { StateTables } from './schema.ts'

/** A transaction on the state database; any store is made over it: `createTokenStore(tx)`. */
export type Tx = Transaction<StateTables>

/**
 * Runs work in one transaction: all of it is durable when the promise resolves, none of it happened when it rejects.
 *
 * Transactions run one after the other on every database (SQLite has one writer; on PostgreSQL they share a lock), so
 * what was read in one is still so when it writes. Two rules follow. Inside `work` use nothing but `tx`: the database
 * itself waits for the transaction, forever. And wait for nothing else in it: no network, no files, no engine.
 */
export type InTransaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>

export interface Transactions {
  readonly inTransaction: InTransaction
  /** Calls the listener after each commit of this process; returns what ends that. */
  readonly onCommit: (listener: () => void) => () => void
}

/** Key of the PostgreSQL advisory lock under which all writing transactions run; advisory locks are per database. */
const WRITE_LOCK = 7_281_114

/** Transactions on a state database. */
export function createTransactions(db: Kysely<StateTables>): Transactions {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  const lock = sql`select pg_advisory_xact_lock(${sql.lit(WRITE_LOCK)})`.compile(db)
  const listeners = new Set<() => void>()
  return {
    async inTransaction(work) {
      const result = await db.transaction().execute(async (tx) => {
        if (isPostgres) await tx.executeQuery(lock)
        return work(tx)
      })
      for (const listener of listeners) listener()
      return result
    },
    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
