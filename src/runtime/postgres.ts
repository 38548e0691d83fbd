import { type Dialect, PostgresDialect, type PostgresPool } from 'kysely'
import pg from 'pg'

import { DatabaseError, type DatabaseErrorCode } from '../storage/database-error.ts'

const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 10_000
/** A process that stands still in a transaction loses it, so that it does not hold up the others for ever. */
const IDLE_TRANSACTION_MS = 10_000
/** Type id of `bigint` in PostgreSQL, which is also the type of counts. */
const INT8 = 20

/**
 * A Kysely dialect over PostgreSQL (`postgres://user:password@host:port/database`), behaving as the SQLite one does:
 * 64-bit integers come back as numbers, beyond ±(2^53-1) as bigint, never rounded; errors are `DatabaseError`.
 */
export function postgresDialect(url: string): Dialect {
  return new PostgresDialect({ pool: async () => wrapPool(openPool(url)) })
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    application_name: 'lockhouse',
    types: { getTypeParser: typeParser },
  })
  // A connection that breaks is replaced at the next query, and a query on it rejects; without listeners for idle ones
  // and for those in use it would end the process too.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

function typeParser(id: number): (text: string) => unknown {
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the driver's types name only some of the ids
  return id === INT8 ? exactInteger : pg.types.getTypeParser(id, 'text')
}

function exactInteger(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

function wrapPool(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await translated(pool.connect())
      return {
        query: ((text: never, values?: never) => translated(client.query(text, values))) as typeof client.query,
        release: () => client.release(),
      }
    },
  }
}

async function translated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw databaseError(error)
  }
}

/** By SQLSTATE (PostgreSQL documentation, appendix A), exact code before class. */
const STATES: ReadonlyMap<string, readonly [DatabaseErrorCode, string]> = new Map([
  ['23505', ['UNIQUE_VIOLATION', 'the key exists']],
  ['23', ['CONSTRAINT_VIOLATION', 'a constraint forbids it']],
  ['25006', ['READ_ONLY', 'it is read-only']],
  ['40', ['BUSY', 'another transaction was in the way']],
  ['55P03', ['BUSY', 'it is locked']],
  ['53100', ['FULL', 'there is no space left']],
  ['53', ['CANNOT_OPEN', 'the server has no resources left']],
  ['XX001', ['CORRUPT', 'it is damaged']],
  ['08', ['CANNOT_OPEN', 'the connection failed']],
  ['28', ['CANNOT_OPEN', 'the server refuses the credentials']],
  ['3D', ['CANNOT_OPEN', 'there is no such database']],
  ['57P', ['CANNOT_OPEN', 'the server is stopping']],
])

function databaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error
  const what = 'A query of the PostgreSQL database failed'
  const state = sqlState(error)
  // Errors of the connection itself have no SQLSTATE.
  if (state === undefined) return new DatabaseError('CANNOT_OPEN', `${what}: it cannot be reached`, { cause: error })
  const found = STATES.get(state) ?? STATES.get(state.slice(0, 3)) ?? STATES.get(state.slice(0, 2))
  const [code, reason] = found ?? ['FAILED', `SQLSTATE ${state}`]
  return new DatabaseError(code, `${what}: ${reason}`, { cause: error })
}

function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}
