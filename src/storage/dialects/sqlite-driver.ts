import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

import { DatabaseError } from '../database-error.ts'
import { databaseError } from './sqlite-error.ts'
import { fromSqliteRow, toSqlite } from './sqlite-values.ts'

export const BUSY_TIMEOUT_MS = 5000
export const MAX_CACHED_STATEMENTS = 500
/**
 * For every connection; the journal mode belongs to the file and is set separately. Temporary tables stay in memory, because a
 * read-only root has no folder for their files.
 */
export const CONNECTION_PRAGMAS = `pragma busy_timeout = ${BUSY_TIMEOUT_MS}; pragma foreign_keys = on;
  pragma synchronous = full; pragma temp_store = memory`

/** An open database, as its library provides it. */
export interface OpenSqlite {
  /** A Kysely driver over one connection that reads every integer as bigint. */
  readonly driver: Driver
  readonly inTransaction: () => boolean
}

export interface SqliteDriverOptions {
  /** Opens the file; called at the first query. Throws `DatabaseError`. */
  readonly open: () => OpenSqlite
  /**
   * A transaction that reads and then writes fails at once when another process wrote in between, whatever the busy
   * timeout. `begin immediate` takes the write lock at the start, so it waits instead.
   */
  readonly begin: 'begin' | 'begin immediate'
}

/**
 * A Kysely dialect with the same behaviour for every SQLite library: values are bound in one form, integers are never
 * rounded, rows are plain objects, errors are `DatabaseError`. Queries cannot be streamed: a stream would occupy the
 * only connection until its end.
 */
export function sqliteDialectOver(options: SqliteDriverOptions): Dialect {
  return {
    createDriver: () => new SqliteLibraryDriver(options),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

const COMMIT = CompiledQuery.raw('commit')
const ROLLBACK = CompiledQuery.raw('rollback')

class SqliteLibraryDriver implements Driver {
  readonly #open: () => OpenSqlite
  readonly #begin: CompiledQuery
  #database: OpenSqlite | undefined
  #connection: SqliteConnection | undefined

  constructor({ open, begin }: SqliteDriverOptions) {
    this.#open = open
    this.#begin = CompiledQuery.raw(begin)
  }

  async init(): Promise<void> {
    const database = this.#open()
    await database.driver.init()
    this.#database = database
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const inner = await this.#opened().driver.acquireConnection()
    this.#connection ??= new SqliteConnection(inner)
    return this.#connection
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(this.#begin)
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(COMMIT)
  }

  /** On a full disk SQLite ends the transaction by itself; a failing rollback must not hide the first error. */
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#opened().inTransaction()) await connection.executeQuery(ROLLBACK)
  }

  async releaseConnection(): Promise<void> {
    if (this.#connection !== undefined) await this.#opened().driver.releaseConnection(this.#connection.inner)
  }

  async destroy(): Promise<void> {
    await this.#database?.driver.destroy()
  }

  #opened(): OpenSqlite {
    if (this.#database === undefined) throw new DatabaseError('FAILED', 'The database is not open')
    return this.#database
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection

  constructor(inner: DatabaseConnection) {
    this.inner = inner
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      const parameters = query.parameters.map(toSqlite)
      const result = await this.inner.executeQuery<Record<string, unknown>>({ ...query, parameters })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of rows is what the query says
      return { ...result, rows: result.rows.map(fromSqliteRow) as R[] }
    } catch (error) {
      throw databaseError(error, 'A database query failed')
    }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new DatabaseError('FAILED', 'SQLite queries cannot be streamed; read them in pages')
  }
}
