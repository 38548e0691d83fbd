import { type Kysely, PostgresAdapter, sql } from 'kysely'

import { sleep } from '../lib/sleep.ts'
import { startLoop } from '../lib/start-loop.ts'
import type { StateTables } from './schema.ts'
import type { InTransaction } from './transactions.ts'

/** This process among those that use the same state database. */
export interface Instance {
  readonly id: number
  /**
   * Whether the process with this id is running. Takes up to 3 s when it seems to have ended: it may only have lost its
   * connection, and then registers again.
   */
  isAlive(id: number): Promise<boolean>
  /** The ids of all running processes, including this one. */
  alive(): Promise<ReadonlySet<number>>
  /** Whether other processes can use the same state. */
  readonly isShared: boolean
  /** Ends the registration. */
  close(): Promise<void>
}

/** Class of the advisory locks that mark live instances; the lock's number is the instance's id. */
const LIVENESS_CLASS = 7_281_115
/** How often a process looks whether it still has its lock. */
const CHECK_MS = 1000
/** The time before it requests a lost lock again. */
const RETRY_MS = 250
/** A process without its lock for this long has ended: longer than both of the above. */
const GONE_MS = 3000
const LOOK_MS = 250
/**
 * The server ends the session of a process that sends nothing for this long, and its lock with the session: a process that
 * lost its power closes no connection. Servers before PostgreSQL 14 rely on TCP keepalives instead.
 */
const SILENT_MS = 20_000

/**
 * Registers this process. On SQLite it is the only one, because it locks the home folder. On PostgreSQL each process
 * keeps a connection with a lock on its number; the server releases the lock with the connection, however the process
 * ends.
 */
export async function registerInstance(
  db: Kysely<StateTables>,
  inTransaction: InTransaction,
  now: Date,
): Promise<Instance> {
  const id = await inTransaction(async (tx) => {
    const last = await tx.selectFrom('instances').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst()
    const next = (last?.id ?? 0) + 1
    await tx.insertInto('instances').values({ id: next, started_at: now.toISOString() }).execute()
    return next
  })
  if (!(db.getExecutor().adapter instanceof PostgresAdapter)) {
    const alive = new Set([id])
    return {
      id,
      isAlive: async (other) => other === id,
      alive: async () => alive,
      isShared: false,
      close: async () => undefined,
    }
  }
  const close = await holdLock(db, id)
  const isAlive = createLivenessCheck(() => heldLocks(db))
  return {
    id,
    isAlive: async (other) => other === id || (await isAlive(other)),
    alive: async () => (await heldLocks(db)).add(id),
    isShared: true,
    close,
  }
}

/** Holds the lock of an instance until the returned function is called; reacquires it after a lost connection. */
async function holdLock(db: Kysely<StateTables>, id: number): Promise<() => Promise<void>> {
  const first = Promise.withResolvers<void>()
  const hold = (signal: AbortSignal): Promise<void> =>
    db.connection().execute(async (connection) => {
      await limitSilence(connection)
      await sql`select pg_advisory_lock(${sql.lit(LIVENESS_CLASS)}, ${sql.lit(id)})`.execute(connection)
      first.resolve()
      while (!signal.aborted) {
        await sql`select 1`.execute(connection)
        await sleep(CHECK_MS, signal)
      }
      await sql`select pg_advisory_unlock(${sql.lit(LIVENESS_CLASS)}, ${sql.lit(id)})`.execute(connection)
    })
  const loop = startLoop({ everyMs: RETRY_MS, tick: hold, onError: first.reject })
  await first.promise
  return () => loop.stop()
}

async function limitSilence(connection: Kysely<StateTables>): Promise<void> {
  await sql`select set_config(name, ${String(SILENT_MS)}, false) from pg_settings
    where name = 'idle_session_timeout'`.execute(connection)
}

/** When a process was first and last seen without its lock, ms of this process's clock. */
interface Absence {
  readonly sinceMs: number
  readonly seenMs: number
  readonly hasEnded: boolean
}

/** Tells whether a process runs; it has ended when its lock stays away, until the lock is seen again. */
function createLivenessCheck(held: () => Promise<ReadonlySet<number>>): (id: number) => Promise<boolean> {
  const absences = new Map<number, Absence>()
  return async (id) => {
    while (true) {
      const running = await held()
      for (const other of running) absences.delete(other)
      if (running.has(id)) return true
      const seenMs = performance.now()
      const last = absences.get(id)
      const isContinued = last !== undefined && (last.hasEnded || seenMs - last.seenMs < GONE_MS)
      const sinceMs = isContinued ? last.sinceMs : seenMs
      const hasEnded = seenMs - sinceMs >= GONE_MS
      absences.set(id, { sinceMs, seenMs, hasEnded })
      if (hasEnded) return false
      await sleep(LOOK_MS)
    }
  }
}

/** The ids of the instances that hold their lock. */
async function heldLocks(db: Kysely<StateTables>): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`select objid::int as id from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())
    and classid = ${sql.lit(LIVENESS_CLASS)} and granted`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
