import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Dialect, type Driver, Kysely, type QueryResult } from 'kysely'
import { afterEach } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import type { SqlCatalogTables } from '../../src/catalog/sql-tables.ts'
import { IcebergError } from '../../src/iceberg/errors.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import type { Schema } from '../../src/iceberg/schema.ts'
import type { Table, TableIdentifier } from '../../src/iceberg/table.ts'
import type { StagedChange } from '../../src/iceberg/update/table-update.ts'
import { sqliteDialect } from '../../src/runtime/sqlite.ts'

export const SCHEMA: Schema = {
  schemaId: 0,
  fields: [
    { id: 1, name: 'id', required: true, type: { kind: 'long' } },
    { id: 2, name: 'name', required: false, type: { kind: 'string' } },
  ],
  identifierFieldIds: [],
}

export const EVENTS: TableIdentifier = { namespace: ['db'], name: 'events' }

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

/** A staged change that sets one property and writes no file. */
export function setProperty(key: string, value: string) {
  return async (table: Table): Promise<StagedChange> => ({
    requirements: [{ type: 'assert-table-uuid', uuid: table.metadata.tableUuid }],
    updates: [{ action: 'set-properties', updates: { [key]: value } }],
    writtenFiles: [],
  })
}

/** Creates the namespace and the table. */
export async function createEvents(
  catalog: Catalog,
  properties: Readonly<Record<string, string>> = {},
): Promise<Table> {
  await catalog.createNamespace(EVENTS.namespace)
  return catalog.createTable(EVENTS, { schema: SCHEMA, properties })
}

export async function filesBelow(io: FileIO, location: string): Promise<string[]> {
  const found: string[] = []
  for await (const file of io.list(location)) found.push(file.location)
  return found.sort()
}

export function openSqlDatabase(path: string, onQuery?: QueryHook): Kysely<SqlCatalogTables> {
  const dialect = sqliteDialect(path)
  return new Kysely<SqlCatalogTables>({ dialect: onQuery === undefined ? dialect : hooked(dialect, onQuery) })
}

/** Called around every statement; what it throws is the driver's error. */
export type QueryHook = <R>(sql: string, run: () => Promise<QueryResult<R>>) => Promise<QueryResult<R>>

/** A real database whose connection misbehaves on command. */
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

/** A FileIO whose calls can be made to fail. `before` runs ahead of a call, `after` when it was done. */
export function faultyIO(
  inner: FileIO,
  hooks: { before?: (method: string, location: string) => void; after?: (method: string, location: string) => void },
): FileIO {
  return new Proxy(inner, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      if (!['read', 'create', 'write', 'stat', 'delete'].includes(String(key))) return member.bind(target)
      return async (location: string, ...rest: unknown[]) => {
        hooks.before?.(String(key), location)
        const result: unknown = await Reflect.apply(member, target, [location, ...rest])
        hooks.after?.(String(key), location)
        return result
      }
    },
  })
}

export function ioFailure(): IcebergError {
  return new IcebergError('IO_FAILED', 'The disk was pulled out.')
}
