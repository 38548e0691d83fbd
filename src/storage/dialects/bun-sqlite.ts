import { basename } from 'node:path'
import { Database } from 'bun:sqlite'

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

function openDatabase(path: string): Database {
  Database.MAX_QUERY_CACHE_SIZE = MAX_CACHED_STATEMENTS // per database; the default is 20
  let database: Database | undefined
  try {
    database = new Database(path, { create: true, safeIntegers: true })
    database.prepare = database.query // kysely-bun-sqlite prepares each query again; `query` keeps statements
    database.run(CONNECTION_PRAGMAS)
    database.run('pragma journal_mode = wal') // also the first read: fails for a file that is not a database
    return database
  } catch (error) {
    database?.close()
    throw databaseError(error, `Cannot open the SQLite database ${basename(path)}`)
  }
}
