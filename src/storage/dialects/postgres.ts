import { type Dialect, PostgresDialect, type PostgresPool } from 'kysely'
import pg from 'pg'

import type { PostgresAddress } from '../../catalog/sql/postgres-address.ts'
import { DatabaseError, type DatabaseErrorCode } from '../database-error.ts'
import { tlsOptions } from './postgres-tls.ts'

const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 10_000
/** A process that stalls in a transaction loses it, so that it does not block the others forever. */
const IDLE_TRANSACTION_MS = 10_000
/** The server ends a statement of the state after this time; migrations have no limit. */
const STATEMENT_MS = 30_000
/** No answer after this time counts as a lost connection: the network may have dropped the connection in silence. */
const ANSWER_MS = 35_000
/** An idle connection is checked after this time, by this process and by the server. */
const KEEP_ALIVE_MS = 10_000
/** Type id of `bigint` in PostgreSQL, which is also the type of counts. */
const INT8 = 20

/**
 * A Kysely dialect over PostgreSQL (`postgres://user:password@host:port/database`, or an address in its parts),
 * behaving as the SQLite one does: 64-bit integers come back as numbers, beyond ±(2^53-1) as bigint, never rounded;
 * errors are `DatabaseError`.
 */
export function postgresDialect(server: string | PostgresAddress, limits: Partial<StateLimits> = {}): Dialect {
  const config = async () =>
    typeof server === 'string' ? stateConfig(server, { ...STATE_LIMITS, ...limits }) : addressConfig(server)
  return new PostgresDialect({ pool: async () => wrapPool(openPool(await config())) })
}

/** Limits of statements on a state database, in ms; 0: none. A catalog's limits are in its address. */
interface StateLimits {
  readonly statementMs: number
  readonly answerMs: number
}

const STATE_LIMITS: StateLimits = { statementMs: STATEMENT_MS, answerMs: ANSWER_MS }

/** For migrations, which may rewrite large tables. */
export const UNLIMITED: StateLimits = { statementMs: 0, answerMs: 0 }

function stateConfig(url: string, { statementMs, answerMs }: StateLimits): pg.PoolConfig {
  return {
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    statement_timeout: statementMs,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'lockhouse',
    Client: StateClient,
  }
}

/** Sets host, user and all other parameters: the driver would take missing ones from this process's environment. */
async function addressConfig(address: PostgresAddress): Promise<pg.PoolConfig> {
  const { host, port, user, database, password, options, connectTimeoutMs, answerTimeoutMs } = address
  return {
    host,
    port,
    user,
    database,
    password: () => password,
    ssl: address.tls === undefined ? false : await tlsOptions(address.tls, host),
    ...(options !== undefined && { options }),
    application_name: address.applicationName,
    max: address.maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: Math.ceil(answerTimeoutMs / 2), // the server times out first, so that the outcome is certain
    query_timeout: answerTimeoutMs,
    keepAlive: true,
  }
}

function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({ Client, ...config, types: { getTypeParser: typeParser } })
  // A broken connection is replaced at the next query, and a query on it rejects; without error listeners on idle and
  // active connections the process would crash too.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

type OnConnected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** Closes the connection when signing in fails because the password is missing; the driver leaves it open. */
class Client extends pg.Client {
  override connect(): Promise<pg.Client>
  override connect(callback: OnConnected): void
  override connect(callback?: OnConnected): Promise<pg.Client> | void {
    if (callback === undefined) return super.connect()
    super.connect((error: Error | null) => {
      if (error) void this.end()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it takes what it is given
      ;(callback as (error: Error | null, client: pg.Client) => void)(error, this)
    })
  }
}

/**
 * Settings by which the server notices within half a minute that this process is gone without a word (PostgreSQL
 * documentation, "Connections and Authentication"): otherwise its locks stay for hours. Older servers lack some of them.
 */
const SERVER_KEEP_ALIVE = `select set_config(name, setting, false) from (values ('tcp_keepalives_idle', '10'),
  ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '20000')) as wanted(name, setting)
  where exists (select from pg_settings known where known.name = wanted.name)`

/** A connection to the state, whose loss the server notices. */
class StateClient extends Client {
  override connect(): Promise<pg.Client>
  override connect(callback: OnConnected): void
  override connect(callback?: OnConnected): Promise<pg.Client> | void {
    if (callback === undefined) return super.connect()
    this.on('error', () => undefined) // the pool listens only after the callback
    super.connect((error: Error | null) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it takes what it is given
      const done = (failure: Error | null) =>
        (callback as (error: Error | null, client: pg.Client) => void)(failure, this)
      if (error) return done(error)
      // a server that refuses the settings is used without them
      this.query(SERVER_KEEP_ALIVE, (failure: Error | null) => {
        done(failure instanceof Error && sqlState(failure) === undefined ? failure : null)
      })
    })
  }
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
      const client = await pool.connect().catch((error: unknown) => {
        throw databaseError(error, { sent: false })
      })
      let broken: DatabaseError | undefined
      const query = async (text: never, values?: never): Promise<unknown> => {
        // An unanswered statement may still be running, and a rollback behind it would hang too. The error stays that of the
        // statement: a commit without an answer must never look refused because its rollback was not sent.
        if (broken !== undefined) throw broken
        try {
          return await client.query(text, values)
        } catch (error) {
          const failure = databaseError(error, { sent: true })
          // Without the server's response the statement may still be running: do not wait for it.
          if (sqlState(error) === undefined) broken = failure
          throw failure
        }
      }
      return {
        query: query as typeof client.query,
        release: (discard) => client.release(discard === true || broken !== undefined),
      }
    },
  }
}

/** By SQLSTATE (PostgreSQL documentation, appendix A), exact code before class. */
const STATES: ReadonlyMap<string, readonly [DatabaseErrorCode, string]> = new Map([
  ['23505', ['UNIQUE_VIOLATION', 'the key exists']],
  ['23', ['CONSTRAINT_VIOLATION', 'a constraint forbids it']],
  ['25006', ['READ_ONLY', 'it is read-only']],
  ['25P0', ['CANNOT_OPEN', 'a transaction stood still for too long']],
  ['40', ['BUSY', 'another transaction was in the way']],
  ['55P03', ['BUSY', 'it is locked']],
  ['57014', ['BUSY', 'it took too long']],
  ['22001', ['CONSTRAINT_VIOLATION', 'a value is too long for its column']],
  ['42501', ['FAILED', 'the user has no right to do this']],
  ['53100', ['FULL', 'there is no space left']],
  ['53', ['CANNOT_OPEN', 'the server has no resources left']],
  ['XX001', ['CORRUPT', 'it is damaged']],
  ['08', ['CANNOT_OPEN', 'the connection failed']],
  ['28', ['CANNOT_OPEN', 'the server refuses the credentials']],
  ['3D', ['CANNOT_OPEN', 'there is no such database']],
  ['3F', ['CANNOT_OPEN', 'there is no such schema']],
  ['57P', ['CANNOT_OPEN', 'the server is stopping']],
])

/**
 * States with which the server rejects a statement: it had no effect. All others, such as the end of a connection
 * (57P, 08), may also be reported after the statement was committed.
 */
const REFUSALS = /^(22|23|25006|3F|40001|40P01|42|44|53100|53200|54|55|57014|P0)/

/** `sent`: whether the statement may have reached the server. */
function databaseError(error: unknown, { sent }: { readonly sent: boolean }): DatabaseError {
  const what = 'A query of the PostgreSQL database failed'
  const state = sqlState(error)
  if (state === undefined) {
    return new DatabaseError('CANNOT_OPEN', `${what}: ${connectionProblem(error)}`, { cause: error, refused: !sent })
  }
  const found =
    STATES.get(state) ?? STATES.get(state.slice(0, 4)) ?? STATES.get(state.slice(0, 3)) ?? STATES.get(state.slice(0, 2))
  const [code, reason] = found ?? ['FAILED', `SQLSTATE ${state}`]
  return new DatabaseError(code, `${what}: ${reason}`, { cause: error, refused: !sent || REFUSALS.test(state) })
}

/** Errors of the connection itself have no SQLSTATE; maps the driver's text for errors that settings cause. */
const CONNECTION_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/does not support SSL/, 'it offers no encryption (sslmode)'],
  [/certificate|altname|self.signed|unable to (get|verify)/i, 'its certificate is not accepted (sslmode, sslrootcert)'],
  [/client password must be/, 'it asks for a password'],
  [/time(d )?out/i, 'it did not answer in time'],
]

function connectionProblem(error: unknown): string {
  const text = error instanceof Error ? error.message : ''
  return CONNECTION_PROBLEMS.find(([pattern]) => pattern.test(text))?.[1] ?? 'it cannot be reached'
}

function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}
