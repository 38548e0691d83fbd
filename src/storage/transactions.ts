import { type Kysely, PostgresAdapter, sql, type Transaction } from 'kysely'

import type { StateTables } from './schema.ts'

/** A transaction on the state database; create any store over it: `createTokenStore(tx)`. */
export type Tx = Transaction<StateTables>

/**
 * Runs work in one transaction: all of it is durable when the promise resolves, none of it happened when it rejects.
 *
 * Transactions run one after the other on every database (SQLite has one writer; on PostgreSQL they share a lock), so
 * what one reads is still valid when it writes. Two rules follow. Inside `work` use only `tx`: a query on the database
 * itself would wait for the transaction forever. And wait for nothing else: no network, no files, no engine.
 */
export type InTransaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>

export interface Transactions {
  readonly inTransaction: InTransaction
  /** Calls the listener after each commit of this process; returns a function that stops it. */
  readonly onCommit: (listener: () => void) => () => void
}

/** Key of the PostgreSQL advisory lock under which all writing transactions run; advisory locks are per database. */
const WRITE_LOCK = 7_281_114
/** The maximum number of pieces of work that share a commit: readers wait for it. */
const MAX_GROUP = 64

/** Work that waits for its turn. */
interface Waiting {
  readonly run: (tx: Tx) => Promise<Outcome>
  readonly fail: (error: unknown) => void
}

/** The outcome of a piece of work; `settle` settles its caller's promise once the outcome is certain. */
type Outcome = { readonly settle: () => void } & (
  | { readonly kept: true }
  | { readonly kept: false; readonly error: unknown }
)

/**
 * Transactions on a state database.
 *
 * Work that waits at the same time shares one commit, each piece behind its own savepoint (group commit): one disk
 * flush serves all of them. None succeeds before that commit.
 */
export function createTransactions(db: Kysely<StateTables>): Transactions {
  const { lock, savepoint, release, rollback } = compileStatements(db)
  const listeners = new Set<() => void>()
  const waiting: Waiting[] = []
  let running = false
  let lostBecause: unknown

  /** Throws when the whole group is lost: a database that dropped the transaction, on a full disk, has no savepoint. */
  async function runOne(tx: Tx, { run }: Waiting): Promise<Outcome> {
    await tx.executeQuery(savepoint)
    const outcome = await run(tx)
    try {
      if (!outcome.kept) await tx.executeQuery(rollback)
      await tx.executeQuery(release)
      return outcome
    } catch (error) {
      lostBecause = outcome.kept ? error : outcome.error // the rollback of a lost transaction fails too, with a less useful error
      throw error
    }
  }

  async function runGroup(): Promise<void> {
    const taken: Waiting[] = []
    lostBecause = undefined
    const outcomes: Outcome[] = []
    try {
      await db.transaction().execute(async (tx) => {
        if (lock) await tx.executeQuery(lock)
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
    for (const { settle } of outcomes) settle()
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
        waiting.push({ run: (tx) => outcomeOf(() => work(tx), { resolve, reject }), fail: reject })
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

/** The statements around a group and around each piece of work in it; only PostgreSQL needs the lock. */
function compileStatements(db: Kysely<StateTables>) {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  return {
    lock: isPostgres ? sql`select pg_advisory_xact_lock(${sql.lit(WRITE_LOCK)})`.compile(db) : undefined,
    savepoint: sql`savepoint work`.compile(db),
    release: sql`release savepoint work`.compile(db),
    rollback: sql`rollback to savepoint work`.compile(db),
  }
}

/** What settles the promise of the caller. */
interface CallerPromise<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

/** Runs the work; `settle` of its outcome settles the promise of the caller. */
async function outcomeOf<T>(work: () => Promise<T>, { resolve, reject }: CallerPromise<T>): Promise<Outcome> {
  try {
    const value = await work()
    return { kept: true, settle: () => resolve(value) }
  } catch (error) {
    return { kept: false, error, settle: () => reject(error) }
  }
}

/** Waits one turn of the event loop, so that requests that have arrived meanwhile join the group. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
