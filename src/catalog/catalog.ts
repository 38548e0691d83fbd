import type { PartitionSpec } from '../iceberg/partitioning.ts'
import type { Schema } from '../iceberg/schema.ts'
import type { SortOrder } from '../iceberg/sort-order.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'

export interface CreateTableOptions {
  readonly schema: Schema
  readonly partitionSpec?: PartitionSpec
  readonly sortOrder?: SortOrder
  /** Default: `<warehouse>/<namespace levels>/<name>`. */
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** Default 2. */
  readonly formatVersion?: 2 | 3
}

export interface CommitRequest {
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
  /**
   * Called with the location of the new metadata file before it is written, so that a crash after it can be told from
   * a finished commit and cleaned up. Where the file is the pointer (hadoop), it may turn out to be somebody else's:
   * look for the snapshot. Where a server names the file (rest), it is a {@link ServedCommit} instead, as text.
   */
  readonly onStaged?: (metadataLocation: string) => Promise<void>
}

/** A table as a catalog lists it, without its metadata. */
export interface CatalogEntry {
  /** For people: the qualified name, and the catalog's where it is another one of the same database. */
  readonly name: string
  /** Undefined for a table of another catalog. */
  readonly identifier: TableIdentifier | undefined
  /** The current metadata file; undefined where only {@link load} can tell. */
  readonly metadataLocation: string | undefined
  load(): Promise<Table>
}

/**
 * Where tables are found and committed. Errors are `IcebergError`: `NO_SUCH_NAMESPACE`, `NO_SUCH_TABLE`,
 * `TABLE_EXISTS`, `TABLES_OVERLAP`, `COMMIT_CONFLICT` (nothing happened), `COMMIT_STATE_UNKNOWN` (delete nothing), and those of FileIO.
 */
export interface Catalog {
  /** The name that other systems must use for the same catalog. */
  readonly name: string
  /** Base location of new tables. */
  readonly warehouse: string
  /** Locations that tables may lie in; default: the warehouse. */
  readonly roots?: readonly string[]
  /** Whether a commit that was cut off may still take effect: a server finishes what it was sent. Default: false. */
  readonly mayCommitLate?: boolean
  /** Resolves when the catalog answers. */
  ping(): Promise<void>
  /** Creates a namespace and with it its parents; an existing one is fine. */
  createNamespace(namespace: readonly string[]): Promise<void>
  /** Parents included, sorted. */
  listNamespaces(): Promise<readonly (readonly string[])[]>
  /** All tables, or those of one namespace, sorted by name; loads no metadata. */
  listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]>
  /**
   * All tables with their current metadata files, in few requests; also those that other catalogs keep in the same
   * place. Absent where that costs a request per table.
   */
  listEntries?(): Promise<readonly CatalogEntry[]>
  loadTable(identifier: TableIdentifier): Promise<Table>
  /**
   * The current metadata location alone, to learn cheaply whether a table has changed; absent where that costs a load.
   * `known` is the one that was answered last: where it saves work, only what may have followed it is looked for.
   */
  locateTable?(identifier: TableIdentifier, known?: string): Promise<string>
  /** The namespace must exist. `TABLES_OVERLAP` when another table keeps files in its folders, where that is known. */
  createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table>
  /**
   * Adopts a table by its metadata file. `TABLE_EXISTS` also when the catalog has the table under another name,
   * `TABLES_OVERLAP` when another table keeps files in its folders.
   */
  registerTable(identifier: TableIdentifier, metadataLocation: string): Promise<Table>
  /** Forgets the table; its files stay. */
  dropTable(identifier: TableIdentifier): Promise<void>
  /** Checks requirements against the fresh table, applies the updates and swaps the pointer atomically. */
  commit(identifier: TableIdentifier, request: CommitRequest): Promise<Table>
  close(): Promise<void>
}
