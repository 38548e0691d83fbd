import { basename } from 'node:path'
import { Database, type SQLQueryBindings } from 'bun:sqlite'

import type { Dialect } from 'kysely'
import { BunSqliteDialect } from 'kysely-bun-sqlite'

import { CONNECTION_PRAGMAS, MAX_CACHED_STATEMENTS, sqliteDialectOver } from './sqlite-driver.ts'
import { databaseError } from './sqlite-error.ts'

/**
 * A Kysely dialect over `bun:sqlite`, for the state database under Bun (docs/adr/0002-sqlite-access.md). The file is
 * opened in WAL mode at the first query and closed by `Kysely.destroy()`. It behaves as `sqliteDialect` does.
 */
export function bunSqliteDialect(path: string): Dialect {
  return sqliteDialectOver({
    open() {
      const database = openDatabase(path)
      const driver = new BunSqliteDialect({ database }).createDriver()
      return { driver, inTransaction: () => database.inTransaction }
    },
    begin: 'begin immediate',
  })
}

/** kysely-bun-sqlite prepares each query again, and asks for the names of its columns only to see whether it has any. */
function keepStatements(database: Database): void {
  const known = new WeakSet<object>()
  database.prepare = <Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(text: string) => {
    const statement = database.query<Row, Values>(text)
    if (!known.has(statement)) {
      known.add(statement)
      Object.defineProperty(statement, 'columnNames', { value: statement.columnNames })
    }
    return statement
  }
}

function openDatabase(path: string): Database {
  Database.MAX_QUERY_CACHE_SIZE = MAX_CACHED_STATEMENTS // per database; the default is 20
  let database: Database | undefined
  try {
    database = new Database(path, { create: true, safeIntegers: true })
    keepStatements(database)
    database.run(CONNECTION_PRAGMAS)
    database.run('pragma journal_mode = wal') // also the first read: fails for a file that is not a database
    return database
  } catch (error) {
    database?.close()
    throw databaseError(error, `Cannot open the SQLite database ${basename(path)}`)
  }
}
