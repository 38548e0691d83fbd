import type { CompiledQuery, Kysely } from 'kysely'

import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { FileIO, FileStatus } from '../../iceberg/io/file-io.ts'
import { folderNames } from '../../iceberg/io/folder-names.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { checkRequirements } from '../../iceberg/update/apply/check-requirements.ts'
import { createFromUpdates, isCreation } from '../../iceberg/update/apply/create-from-updates.ts'
import { compareText } from '../../iceberg/values/values.ts'
import type { CatalogEntry, CommitRequest, CreateTableOptions, TableCheck, TableCommit } from '../catalog.ts'
import type { CatalogChecks, CheckableCatalog } from '../catalog-checks.ts'
import { type AllOutcome, type CommitOutcome, committed, conflict, refused, unknown } from '../commit-outcome.ts'
import { commitAllBySwap } from './commit-all.ts'
import { commitBySwap, type Swap, type SwapOutcome, type TablePointer } from '../commit-swap.ts'
import { loadNewTableAt, loadTableAt } from '../metadata-file.ts'
import { WrittenMetadata } from '../kept-metadata/written-metadata.ts'
import type { CatalogNames } from '../names.ts'
import { draftOf, type NewTable, newTableMetadata, stageTable } from '../new-table.ts'
import { namedLocations, requireAllowedLocations, requireInRoots } from '../ownership/allowed-locations.ts'
import { requireNoLinkOut } from '../ownership/allowed-locations.ts'
import { folderOfNamespace, type NamespaceFolders, requireFreeFolder } from '../ownership/namespace-folders.ts'
import { requireOwnNamespace } from '../ownership/namespace-folders.ts'
import { addUnowned, requireUnowned } from '../ownership/registration-guard.ts'
import { createSqlChecks } from './checks.ts'
import { createSqlNames } from './names.ts'
import { createSqlNamespaces, type SqlNamespaces } from './namespaces.ts'
import { databaseFailure, query } from './query.ts'
import { transact } from './transaction.ts'
import {
  failuresAreFinal,
  type IcebergTablesTable,
  isBusy,
  isRefusal,
  listCatalogNames,
  onlyTables,
  prepareSqlCatalog,
  type SqlCatalogTables,
  type SqlCatalogVersion,
} from './tables.ts'
import {
  checkIdentifier,
  checkNamespace,
  checkNewIdentifier,
  checkNewNamespace,
  formatIdentifier,
  formatNamespace,
  noSuchNamespace,
  noSuchTable,
  parseNamespace,
  tableExists,
} from '../table-identifier.ts'

export interface SqlCatalogOptions {
  readonly db: Kysely<SqlCatalogTables>
  /** Part of the row key: other systems see the same tables only under the same name. */
  readonly name: string
  readonly warehouse: string
  readonly io: FileIO
  /** Locations that may contain tables; default: the warehouse. */
  readonly roots?: readonly string[]
  /** Whether missing tables of the catalog are created in the database; default: true. */
  readonly createsTables?: boolean
}

/** A catalog stored in the tables of Iceberg's JDBC catalog. */
export interface SqlCatalog extends CheckableCatalog {
  /** The catalog names that have anything in this database, sorted: helps when an empty catalog only has the wrong name. */
  listCatalogNames(): Promise<readonly string[]>
}

/**
 * The Iceberg JDBC catalog (V0 and V1) over Kysely: the same rows that Java's JdbcCatalog and PyIceberg's SqlCatalog
 * read and write. Views are hidden. Closing destroys `db`.
 */
export function createSqlCatalog(options: SqlCatalogOptions): SqlCatalog {
  return new SqlCatalogImpl(options)
}

/** Placeholders in a compiled query for the parameters of each run; never valid table names. */
const NAMESPACE_SLOT = '\0namespace'
const NAME_SLOT = '\0name'

class SqlCatalogImpl implements SqlCatalog {
  readonly name: string
  readonly warehouse: string
  readonly roots: readonly string[]
  readonly names: CatalogNames
  readonly checks: CatalogChecks
  readonly #db: Kysely<SqlCatalogTables>
  readonly #io: FileIO
  readonly #namespaces: SqlNamespaces
  readonly #folders: NamespaceFolders
  readonly #createsTables: boolean
  readonly #pointer: TablePointer & Required<Pick<TablePointer, 'swapAll'>>
  #version: Promise<SqlCatalogVersion> | undefined
  #location: CompiledQuery<{ metadata_location: string | null }> | undefined

  constructor(options: SqlCatalogOptions) {
    this.name = options.name
    this.warehouse = options.warehouse.replace(/\/+$/, '')
    this.roots = options.roots ?? [this.warehouse]
    this.#db = options.db
    this.#io = options.io
    this.#createsTables = options.createsTables ?? true
    this.checks = createSqlChecks(options.db, () => this.#prepare())
    this.#namespaces = createSqlNamespaces(options.db, options.name)
    this.#folders = {
      warehouse: this.warehouse,
      list: () => query(() => this.#namespaces.list()),
      location: (namespace) => query(() => this.#namespaces.location(namespace)),
    }
    this.names = createSqlNames({
      db: options.db,
      catalogName: options.name,
      namespaces: this.#namespaces,
      prepare: () => this.#prepare(),
      requireFree: (identifier) => this.#requireFree(identifier),
      requireNamespace: (namespace) => this.#requireNamespace(namespace),
      requireTable: async (identifier) => void (await this.#read(identifier)),
      stage: (identifier, options) => this.#newMetadata(identifier, options),
      checkLocation: async (namespace, location) => {
        await requireInRoots(this, this.#io, [location])
        await requireFreeFolder(this.#folders, this.#io, { namespace, location })
      },
    })
    this.#pointer = {
      catalog: this,
      io: options.io,
      written: new WrittenMetadata(),
      failuresAreFinal: failuresAreFinal(options.db),
      read: (identifier) => this.#read(identifier),
      swap: (identifier, expected, next) => this.#swapAll([{ identifier, expected, next }]),
      swapAll: (swaps) => this.#swapAll(swaps),
    }
  }

  async ping(): Promise<void> {
    await this.#prepare()
    await query(() => this.#db.selectFrom('iceberg_tables').select('catalog_name').limit(1).execute())
    await folderNames(this.#io, this.warehouse) // fails if the object store cannot be reached
  }

  async listCatalogNames(): Promise<readonly string[]> {
    await this.#prepare()
    return query(() => listCatalogNames(this.#db))
  }

  async createNamespace(namespace: readonly string[]): Promise<void> {
    checkNewNamespace(namespace)
    await this.#prepare()
    await query(() => this.#namespaces.create(namespace))
  }

  async listNamespaces(): Promise<readonly (readonly string[])[]> {
    await this.#prepare()
    return query(() => this.#namespaces.list())
  }

  async listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]> {
    const version = await this.#prepare()
    if (namespace !== undefined && namespace.length > 0) await this.#requireNamespace(namespace)
    let rows = this.#db.selectFrom('iceberg_tables').select(['table_namespace', 'table_name'])
    rows = rows.where('catalog_name', '=', this.name).where(onlyTables(version))
    if (namespace !== undefined) rows = rows.where('table_namespace', '=', formatNamespace(namespace))
    const found = await query(() => rows.execute())
    // A server may sort by language rules.
    const sorted = found.sort(
      (a, b) => compareText(a.table_namespace, b.table_namespace) || compareText(a.table_name, b.table_name),
    )
    return sorted.map((row) => ({ namespace: parseNamespace(row.table_namespace), name: row.table_name }))
  }

  async listEntries(): Promise<readonly CatalogEntry[]> {
    const version = await this.#prepare()
    const columns = ['catalog_name', 'table_namespace', 'table_name', 'metadata_location'] as const
    const rows = this.#db.selectFrom('iceberg_tables').select(columns).where(onlyTables(version))
    const found = await query(() => rows.execute())
    return found.flatMap((row) => this.#entry(row) ?? [])
  }

  async loadTable(identifier: TableIdentifier): Promise<Table> {
    return loadTableAt(this.#io, identifier, await this.#read(identifier))
  }

  /** Runs at every trigger of every pipeline, so the query is built once: building it takes longer than running it. */
  async locateTable(identifier: TableIdentifier): Promise<string> {
    checkIdentifier(identifier)
    const version = await this.#prepare()
    this.#location ??= this.#rowOf({ namespace: [NAMESPACE_SLOT], name: NAME_SLOT })
      .where(onlyTables(version))
      .compile()
    const given = new Map<unknown, string>([
      [NAMESPACE_SLOT, formatNamespace(identifier.namespace)],
      [NAME_SLOT, identifier.name],
    ])
    const { parameters, ...compiled } = this.#location
    const asked = { ...compiled, parameters: parameters.map((value) => given.get(value) ?? value) }
    const { rows } = await query(() => this.#db.executeQuery<{ metadata_location: string | null }>(asked))
    return rows[0]?.metadata_location ?? this.#read(identifier) // throws the specific error
  }

  async statMetadataFile(location: string): Promise<FileStatus | undefined> {
    return this.#io.stat(location)
  }

  async createTable(identifier: TableIdentifier, options: CreateTableOptions, check?: TableCheck): Promise<Table> {
    return this.#addTable(identifier, await this.#newMetadata(identifier, options, check))
  }

  async registerTable(
    identifier: TableIdentifier,
    metadataLocation: string,
    check?: (table: Table) => Promise<void>,
  ): Promise<Table> {
    await this.#requireNew(identifier)
    await requireNoLinkOut(this, this.#io, [metadataLocation])
    const table = await loadNewTableAt(this.#io, identifier, metadataLocation)
    await requireNoLinkOut(this, this.#io, namedLocations(table))
    await check?.(table)
    return addUnowned(this, table, {
      add: () => this.#insert({ table, discard: async () => {} }),
      undo: (added) => this.#forget(added),
    })
  }

  async dropTable(identifier: TableIdentifier): Promise<void> {
    const version = await this.#prepare()
    const row = this.#db.deleteFrom('iceberg_tables').where('catalog_name', '=', this.name)
    const named = row.where('table_namespace', '=', formatNamespace(identifier.namespace))
    const deletion = named.where('table_name', '=', identifier.name).where(onlyTables(version))
    const result = await query(() => deletion.executeTakeFirst())
    if (result.numDeletedRows === 0n) throw await this.#noSuchTable(identifier)
  }

  async commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    if (isCreation(request.requirements)) return this.#commitCreation(identifier, request)
    return commitBySwap(this.#pointer, identifier, request)
  }

  async commitAll(commits: readonly TableCommit[]): Promise<AllOutcome> {
    return commitAllBySwap(this.#pointer, commits)
  }

  async close(): Promise<void> {
    await this.#db.destroy()
  }

  #prepare(): Promise<SqlCatalogVersion> {
    this.#version ??= query(() => prepareSqlCatalog(this.#db, { create: this.#createsTables })).catch(
      (error: unknown) => {
        this.#version = undefined // a later call retries
        throw error
      },
    )
    return this.#version
  }

  async #read(identifier: TableIdentifier): Promise<string> {
    checkIdentifier(identifier)
    const version = await this.#prepare()
    const row = await query(() => this.#rowOf(identifier).where(onlyTables(version)).executeTakeFirst())
    if (row === undefined) throw await this.#noSuchTable(identifier)
    if (row.metadata_location !== null) return row.metadata_location
    const message = `The catalog entry of ${formatIdentifier(identifier)} has no metadata location.`
    throw new IcebergError('INVALID_METADATA', message)
  }

  #rowOf(identifier: TableIdentifier) {
    const rows = this.#db.selectFrom('iceberg_tables').select(['metadata_location'])
    const named = rows.where('catalog_name', '=', this.name).where('table_name', '=', identifier.name)
    return named.where('table_namespace', '=', formatNamespace(identifier.namespace))
  }

  async #swapAll(swaps: readonly Swap[]): Promise<SwapOutcome> {
    const version = await this.#prepare()
    const [only] = swaps
    try {
      if (only !== undefined && swaps.length === 1) {
        return { kind: (await this.#swapOne(this.#db, only, version)) ? 'swapped' : 'moved' }
      }
      await transact(this.#db, async (tx) => {
        for (const swap of swaps) if (!(await this.#swapOne(tx, swap, version))) throw new MovedError()
      })
      return { kind: 'swapped' }
    } catch (error) {
      if (error instanceof MovedError) return { kind: 'moved' }
      const identifier = only?.identifier ?? { namespace: [], name: '' }
      if (isBusy(error)) return conflict(identifier, error)
      if (isRefusal(error)) return refused(identifier, databaseFailure(error))
      throw error
    }
  }

  /** Whether the pointer was the expected one. */
  async #swapOne(db: Kysely<SqlCatalogTables>, { identifier, expected, next }: Swap, version: SqlCatalogVersion) {
    const update = db
      .updateTable('iceberg_tables')
      // a table that is only checked is updated too: the lock on its row keeps others out until the end of the transaction
      .set(
        next === expected
          ? { metadata_location: next }
          : { metadata_location: next, previous_metadata_location: expected },
      )
      .where('catalog_name', '=', this.name)
      .where('table_namespace', '=', formatNamespace(identifier.namespace))
      .where('table_name', '=', identifier.name)
      .where('metadata_location', '=', expected)
      .where(onlyTables(version))
    return (await update.executeTakeFirst()).numUpdatedRows === 1n
  }

  /** The first metadata of a table in its place, once nothing is against the table. */
  async #newMetadata(
    identifier: TableIdentifier,
    options: CreateTableOptions,
    check?: TableCheck,
  ): Promise<TableMetadata> {
    const requireFree = async (found: Table): Promise<void> => {
      await requireUnowned(this, found)
      await check?.(found)
    }
    await this.#requireNew(identifier)
    const usual = `${await folderOfNamespace(this.#folders, identifier.namespace)}/${identifier.name}`
    const metadata = newTableMetadata({ ...options, location: options.location ?? usual })
    const draft = draftOf(this.#io, identifier, metadata)
    await requireAllowedLocations(this, undefined, draft)
    await requireOwnNamespace(this.#folders, undefined, draft)
    try {
      await requireFree(draft)
      return metadata
    } catch (error) {
      if (options.location !== undefined || !isIcebergError(error, 'TABLES_OVERLAP')) throw error
    }
    // a table that was renamed keeps its files in the usual folder of its first name
    const other = newTableMetadata({ ...options, location: `${usual}-${crypto.randomUUID().slice(0, 8)}` })
    await requireFree(draftOf(this.#io, identifier, other))
    return other
  }

  /** Adds a table unless its folders are another one's, also when both are created at the same time. */
  async #addTable(identifier: TableIdentifier, metadata: TableMetadata): Promise<Table> {
    let created: NewTable | undefined
    return addUnowned(this, draftOf(this.#io, identifier, metadata), {
      add: async () => {
        created = await stageTable(this.#io, identifier, metadata)
        return this.#insert(created)
      },
      undo: async (added) => {
        await this.#forget(added)
        await created?.discard()
      },
    })
  }

  /** A commit of a table that does not exist yet. */
  async #commitCreation(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome> {
    try {
      await this.#requireNew(identifier)
      checkRequirements(undefined, request.requirements)
      const metadata = createFromUpdates(request.updates, Date.now())
      await request.check?.(undefined, draftOf(this.#io, identifier, metadata))
      return committed(await this.#addTable(identifier, metadata))
    } catch (error) {
      if (isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) return unknown(identifier, error)
      if (!isIcebergError(error, 'TABLE_EXISTS')) return refused(identifier, error)
      const message = `Requirement failed: table already exists: ${formatIdentifier(identifier)}`
      return refused(identifier, new IcebergError('COMMIT_CONFLICT', message, { cause: error }))
    }
  }

  async #requireNew(identifier: TableIdentifier): Promise<void> {
    checkNewIdentifier(identifier)
    await this.#prepare()
    await this.#requireNamespace(identifier.namespace)
    await this.#requireFree(identifier)
  }

  async #insert(created: NewTable): Promise<Table> {
    const { table } = created
    try {
      if (!(await this.#insertRow(table.identifier, table.metadataLocation))) throw tableExists(table.identifier)
      return table
    } catch (error) {
      if (!isIcebergError(error, 'TABLE_EXISTS') && (await this.#wasInserted(table, error))) return table
      await created.discard()
      throw error
    }
  }

  /** Deletes a row that is unchanged since it was inserted. */
  async #forget({ identifier, metadataLocation }: Table): Promise<void> {
    const rows = this.#db.deleteFrom('iceberg_tables').where('catalog_name', '=', this.name)
    const named = rows.where('table_name', '=', identifier.name).where('metadata_location', '=', metadataLocation)
    await query(() => named.where('table_namespace', '=', formatNamespace(identifier.namespace)).execute())
  }

  /** Undefined for a row without a metadata file: its files are unknown. */
  #entry(row: EntryRow): CatalogEntry | undefined {
    const { metadata_location: metadataLocation } = row
    if (metadataLocation === null) return undefined
    const identifier = { namespace: parseNamespace(row.table_namespace), name: row.table_name }
    const own = row.catalog_name === this.name
    const name = formatIdentifier(identifier)
    return {
      name: own ? name : `${name} of the catalog "${row.catalog_name}"`,
      identifier: own ? identifier : undefined,
      ...(own ? {} : { foreign: { catalogName: row.catalog_name, identifier } }),
      metadataLocation,
      load: () => loadTableAt(this.#io, identifier, metadataLocation),
    }
  }

  /** After an error of the INSERT: whether it happened. Throws `COMMIT_STATE_UNKNOWN` when the outcome is unknown. */
  async #wasInserted({ identifier, metadataLocation }: Table, cause: unknown): Promise<boolean> {
    if (cause instanceof Error && isRefusal(cause.cause)) return false
    try {
      return (await this.#read(identifier)) === metadataLocation
    } catch (error) {
      if (isIcebergError(error, 'NO_SUCH_TABLE') && this.#pointer.failuresAreFinal) return false
      const message = `It is not known whether ${formatIdentifier(identifier)} was created; no file was deleted.`
      throw new IcebergError('COMMIT_STATE_UNKNOWN', message, { cause })
    }
  }

  /** False when there is a table or a view of that name. */
  async #insertRow(identifier: TableIdentifier, metadataLocation: string): Promise<boolean> {
    const version = await this.#prepare()
    const row = {
      catalog_name: this.name,
      table_namespace: formatNamespace(identifier.namespace),
      table_name: identifier.name,
      metadata_location: metadataLocation,
      previous_metadata_location: null,
      ...(version === 'V1' ? { iceberg_type: 'TABLE' } : {}),
    }
    const insert = this.#db.insertInto('iceberg_tables').values(row)
    const result = await query(() => insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst())
    return result.numInsertedOrUpdatedRows === 1n
  }

  async #requireFree(identifier: TableIdentifier): Promise<void> {
    if ((await query(() => this.#rowOf(identifier).executeTakeFirst())) !== undefined) throw tableExists(identifier)
  }

  async #requireNamespace(namespace: readonly string[]): Promise<void> {
    checkNamespace(namespace)
    if (await query(() => this.#namespaces.exists(namespace))) return
    throw noSuchNamespace(namespace)
  }

  async #noSuchTable(identifier: TableIdentifier): Promise<IcebergError> {
    const names = await query(() => listCatalogNames(this.#db))
    const others = names.length > 0 && !names.includes(this.name) ? names.map((name) => `"${name}"`).join(', ') : ''
    const hint = others === '' ? undefined : `The catalog "${this.name}" is empty; this database contains ${others}.`
    return noSuchTable(identifier, hint)
  }
}

/** Rolls a transaction back. */
class MovedError extends Error {}

type EntryRow = Pick<IcebergTablesTable, 'catalog_name' | 'table_namespace' | 'table_name' | 'metadata_location'>
