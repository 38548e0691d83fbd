import { basename } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

import { type Dialect, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely'

import { DatabaseError, type DatabaseErrorCode } from '../storage/database-error.ts'

/** How a SQLite file is opened. */
export interface SqliteOptions {
  /** Opens an existing file and changes nothing in it, not even its journal mode. */
  readonly readonly?: boolean
  /** Leaves the journal mode of the file as it is, for files that belong to another system. Default: WAL. */
  readonly keepJournalMode?: boolean
}

const BUSY_TIMEOUT_MS = 5000
const MAX_CACHED_STATEMENTS = 500

/**
 * A Kysely dialect over `node:sqlite`, which Bun and Node both have (docs/adr/0002-sqlite-access.md).
 * The file is opened at the first query and closed by `Kysely.destroy()`. Integers come back as numbers, beyond
 * ±(2^53-1) as bigint, never rounded. Errors are `DatabaseError`.
 *
 * One connection, synchronous: a transaction on another connection of this process to the same file blocks until
 * the busy timeout, so open a file once per process.
 */
export function sqliteDialect(path: string, options: SqliteOptions = {}): Dialect {
  return new SqliteDialect({ database: async () => wrapDatabase(openDatabase(path, options), options) })
}

function openDatabase(path: string, options: SqliteOptions): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: options.readonly === true, timeout: BUSY_TIMEOUT_MS })
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}; pragma foreign_keys = on; pragma synchronous = full`)
    // Also the first read of the file: a file that is no database fails here.
    if (options.readonly !== true && options.keepJournalMode !== true) database.exec('pragma journal_mode = wal')
    else database.prepare('pragma schema_version').get()
    return database
  } catch (error) {
    database?.close()
    throw databaseError(error, `Cannot open the SQLite database ${basename(path)}`)
  }
}

function wrapDatabase(database: DatabaseSync, options: SqliteOptions): SqliteDatabase {
  const cache = new Map<string, SqliteStatement>()
  return {
    close: () => database.close(),
    prepare(sql) {
      const cached = cache.get(sql)
      if (cached !== undefined) return cached
      const statement = guard(() => wrapStatement(database, immediate(sql, options)))
      if (cache.size >= MAX_CACHED_STATEMENTS) cache.clear()
      cache.set(sql, statement)
      return statement
    },
  }
}

/**
 * A transaction that reads and then writes fails at once when another process wrote in between, whatever the busy
 * timeout; taking the write lock at the start makes it wait instead.
 */
function immediate(sql: string, options: SqliteOptions): string {
  return sql === 'begin' && options.readonly !== true ? 'begin immediate' : sql
}

function wrapStatement(database: DatabaseSync, sql: string): SqliteStatement {
  if (sql === 'rollback') return rollbackStatement(database)
  const statement = prepareExact(database, sql)
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => guard(() => statement.all(...parameters.map(toSqlite)).map(fromSqliteRow)),
    run: (parameters) => guard(() => statement.run(...parameters.map(toSqlite))),
    // A cached statement must not be iterated: a second use would reset the first.
    iterate: (parameters) => iterateRows(prepareExact(database, sql), parameters),
  }
}

/** On a full disk SQLite ends the transaction by itself; a rollback that fails then would hide why. */
function rollbackStatement(database: DatabaseSync): SqliteStatement {
  const rollback = database.prepare('rollback')
  const run = () => (database.isTransaction ? rollback.run() : { changes: 0n, lastInsertRowid: 0n })
  return { reader: false, all: () => [], run: () => guard(run), iterate: () => [][Symbol.iterator]() }
}

function prepareExact(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

function* iterateRows(statement: StatementSync, parameters: readonly unknown[]): IterableIterator<unknown> {
  try {
    for (const row of statement.iterate(...parameters.map(toSqlite))) yield fromSqliteRow(row)
  } catch (error) {
    throw databaseError(error, 'A database query failed')
  }
}

/**
 * Bindings that the runtimes treat differently (booleans, undefined, a Date taken for named parameters, integers bound
 * as REAL) in one form.
 */
function toSqlite(value: unknown): SQLInputValue {
  switch (typeof value) {
    case 'string':
    case 'bigint':
      return value
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value
    case 'boolean':
      return value ? 1n : 0n
    case 'undefined':
      return null
    default:
      if (value === null || value instanceof Uint8Array) return value
      if (value instanceof Date) return value.toISOString()
      throw new DatabaseError('FAILED', `A value of type ${typeof value} cannot be stored in a column`)
  }
}

/** Rows as plain objects; the driver's have no prototype. */
function fromSqliteRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const key in row) {
    const value = row[key]
    result[key] = typeof value === 'bigint' ? exactInteger(value) : value
  }
  return result
}

function exactInteger(value: bigint): number | bigint {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

function guard<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw databaseError(error, 'A database query failed')
  }
}

/** By SQLite's primary result code (https://www.sqlite.org/rescode.html). */
const PRIMARY_CODES: ReadonlyMap<number, readonly [DatabaseErrorCode, string]> = new Map([
  [5, ['BUSY', 'another process holds its lock']],
  [6, ['BUSY', 'it is locked']],
  [8, ['READ_ONLY', 'it is read-only']],
  [11, ['CORRUPT', 'it is damaged']],
  [13, ['FULL', 'there is no space left']],
  [14, ['CANNOT_OPEN', 'the file cannot be opened; check that its folder exists and is accessible']],
  [19, ['CONSTRAINT_VIOLATION', 'a constraint forbids it']],
  [26, ['CORRUPT', 'it is not a SQLite database']],
])
const UNIQUE_CODES: ReadonlySet<number> = new Set([1555, 2067, 2579]) // PRIMARYKEY, UNIQUE, ROWID

/** What `node:sqlite` threw as a `DatabaseError`; `what` says what was being done. */
export function databaseError(error: unknown, what: string): DatabaseError {
  if (error instanceof DatabaseError) return error
  const code = resultCode(error)
  if (code === undefined) return new DatabaseError('FAILED', what, { cause: error })
  if (UNIQUE_CODES.has(code)) return new DatabaseError('UNIQUE_VIOLATION', `${what}: the key exists`, { cause: error })
  const [name, reason] = PRIMARY_CODES.get(code & 0xff) ?? ['FAILED', `SQLite error ${code}`]
  return new DatabaseError(name, `${what}: ${reason}`, { cause: error })
}

function resultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode : undefined
}
