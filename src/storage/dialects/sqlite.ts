import { basename } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

import { type Dialect, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely'
import { LRUCache } from 'lru-cache'

import { BUSY_TIMEOUT_MS, CONNECTION_PRAGMAS, MAX_CACHED_STATEMENTS, sqliteDialectOver } from './sqlite-driver.ts'
import { databaseError } from './sqlite-error.ts'

/** How a SQLite file is opened. */
export interface SqliteOptions {
  /** Opens an existing file without changing anything in it, not even its journal mode. */
  readonly readonly?: boolean
  /** Leaves the journal mode of the file as it is, for files that belong to another system. Default: WAL. */
  readonly keepJournalMode?: boolean
}

/**
 * A Kysely dialect over `node:sqlite`, which Bun and Node both have (docs/adr/0002-sqlite-access.md).
 * The file is opened at the first query and closed by `Kysely.destroy()`. Integers come back as numbers, beyond
 * ±(2^53-1) as bigint, never rounded. Errors are `DatabaseError`.
 *
 * One connection, synchronous: a transaction on another connection of this process to the same file blocks until
 * the busy timeout, so open a file once per process.
 */
export function sqliteDialect(path: string, options: SqliteOptions = {}): Dialect {
  return sqliteDialectOver({
    open() {
      const database = openDatabase(path, options)
      const driver = new SqliteDialect({ database: cachingStatements(database) }).createDriver()
      return { driver, inTransaction: () => database.isTransaction }
    },
    begin: options.readonly === true ? 'begin' : 'begin immediate',
  })
}

function openDatabase(path: string, options: SqliteOptions): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: options.readonly === true, timeout: BUSY_TIMEOUT_MS })
    database.exec(CONNECTION_PRAGMAS)
    // Also the first read of the file: fails for a file that is not a database.
    if (options.readonly !== true && options.keepJournalMode !== true) database.exec('pragma journal_mode = wal')
    else database.prepare('pragma schema_version').get()
    return database
  } catch (error) {
    database?.close()
    throw databaseError(error, `Cannot open the SQLite database ${basename(path)}`)
  }
}

function cachingStatements(database: DatabaseSync): SqliteDatabase {
  const cache = new LRUCache<string, SqliteStatement>({ max: MAX_CACHED_STATEMENTS })
  return {
    close: () => database.close(),
    prepare(sql) {
      const cached = cache.get(sql)
      if (cached !== undefined) return cached
      const statement = prepareExact(database, sql)
      cache.set(sql, statement)
      return statement
    },
  }
}

function prepareExact(database: DatabaseSync, sql: string): SqliteStatement {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...bound(parameters)),
    run: (parameters) => statement.run(...bound(parameters)),
    // Never called: the driver refuses streams before it prepares a statement.
    iterate: (parameters) => database.prepare(sql).iterate(...bound(parameters)),
  }
}

function bound(parameters: readonly unknown[]): readonly SQLInputValue[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the driver above bound them with `toSqlite`
  return parameters as readonly SQLInputValue[]
}
