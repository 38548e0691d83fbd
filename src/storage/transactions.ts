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
/** So many pieces of work share a commit at most: readers wait for it. */
const MAX_GROUP = 64

/** Work that waits for its turn. */
interface Waiting {
  readonly run: (tx: Tx) => Promise<Outcome>
  readonly fail: (error: unknown) => void
}

/** How a piece of work ended; `tell` settles its caller's promise, to be called when that is certain. */
type Outcome = { readonly tell: () => void } & (
  | { readonly kept: true }
  | { readonly kept: false; readonly error: unknown }
)

/**
 * Transactions on a state database.
 *
 * Work that waits at the same time shares one commit, each piece behind a savepoint of its own (group commit): the disk
 * is asked once for all of them. None is told of success before that commit.
 */
export function createTransactions(db: Kysely<StateTables>): Transactions {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  const lock = sql`select pg_advisory_xact_lock(${sql.lit(WRITE_LOCK)})`.compile(db)
  const savepoint = sql`savepoint work`.compile(db)
  const release = sql`release savepoint work`.compile(db)
  const rollback = sql`rollback to savepoint work`.compile(db)
  const listeners = new Set<() => void>()
  const waiting: Waiting[] = []
  let running = false
  let lostBecause: unknown

  /** Throws when the whole group is lost: a database that gave up the transaction, on a full disk, has no savepoint. */
  async function runOne(tx: Tx, { run }: Waiting): Promise<Outcome> {
    await tx.executeQuery(savepoint)
    const outcome = await run(tx)
    try {
      if (!outcome.kept) await tx.executeQuery(rollback)
      await tx.executeQuery(release)
      return outcome
    } catch (error) {
      lostBecause = outcome.kept ? error : outcome.error // the rollback of what is gone fails too, and says less
      throw error
    }
  }

  async function runGroup(): Promise<void> {
    const taken: Waiting[] = []
    lostBecause = undefined
    const outcomes: Outcome[] = []
    try {
      await db.transaction().execute(async (tx) => {
        if (isPostgres) await tx.executeQuery(lock)
        for (let next = waiting.shift(); next; next = taken.length < MAX_GROUP ? waiting.shift() : undefined) {
          taken.push(next)
          outcomes.push(await runOne(tx, next))
        }
      })
    } catch (error) {
      const lost = taken.length > 0 ? taken : waiting.splice(0)
      for (const { fail } of lost) fail(lostBecause ?? error)
      return
    }
    for (const listener of listeners) listener()
    for (const { tell } of outcomes) tell()
  }

  async function runGroups(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn()
      await runGroup()
    }
    running = false
  }

  return {
    inTransaction(work) {
      return new Promise((resolve, reject) => {
        async function run(tx: Tx): Promise<Outcome> {
          try {
            const value = await work(tx)
            return { kept: true, tell: () => resolve(value) }
          } catch (error) {
            return { kept: false, error, tell: () => reject(error) }
          }
        }
        waiting.push({ run, fail: reject })
        if (running) return
        running = true
        void runGroups()
      })
    },
    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** One turn of the event loop: requests that have arrived meanwhile join the group. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
