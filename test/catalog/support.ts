import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Dialect, type Driver, Kysely, type QueryResult } from 'kysely'
import { afterEach } from 'vitest'

import type { SqlCatalogTables } from '../../src/catalog/sql/tables.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import { sqliteDialect } from '../../src/storage/dialects/sqlite.ts'

/** Folders that are removed after each test. */
export function temporaryFolders(): () => string {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  return () => {
    const folder = mkdtempSync(join(tmpdir(), 'catalog-test-'))
    folders.push(folder)
    return folder
  }
}

export function openSqlDatabase(path: string, onQuery?: QueryHook): Kysely<SqlCatalogTables> {
  const dialect = sqliteDialect(path)
  return new Kysely<SqlCatalogTables>({ dialect: onQuery === undefined ? dialect : hooked(dialect, onQuery) })
}

/** Called around every statement; what it throws becomes the driver's error. */
export type QueryHook = <R>(sql: string, run: () => Promise<QueryResult<R>>) => Promise<QueryResult<R>>

/** A real database whose connection can misbehave on command. */
function hooked(dialect: Dialect, onQuery: QueryHook): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => hookedDriver(dialect.createDriver(), onQuery),
  }
}

function hookedDriver(driver: Driver, onQuery: QueryHook): Driver {
  return {
    init: () => driver.init(),
    async acquireConnection() {
      const connection = await driver.acquireConnection()
      return {
        executeQuery: <R>(query: Parameters<typeof connection.executeQuery>[0]) =>
          onQuery<R>(query.sql, () => connection.executeQuery(query)),
        streamQuery: (query, size) => connection.streamQuery(query, size),
      }
    },
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection) => driver.releaseConnection(connection),
    destroy: () => driver.destroy(),
  }
}

type IoHook = (method: string, location: string) => void | Promise<void>

/** A FileIO whose calls can be made to fail, or to take long. `before` runs before a call, `after` after it. */
export function faultyIO(inner: FileIO, hooks: { before?: IoHook; after?: IoHook }): FileIO {
  return new Proxy(inner, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      if (!['read', 'create', 'write', 'stat', 'delete'].includes(String(key))) return member.bind(target)
      return async (location: string, ...rest: unknown[]) => {
        await hooks.before?.(String(key), location)
        const result: unknown = await Reflect.apply(member, target, [location, ...rest])
        await hooks.after?.(String(key), location)
        return result
      }
    },
  })
}

export function ioFailure(): IcebergError {
  return new IcebergError('IO_FAILED', 'The disk was pulled out.')
}
