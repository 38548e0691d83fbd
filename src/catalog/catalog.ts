import type { FileStatus } from '../iceberg/io/file-io.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { AllOutcome, CommitOutcome } from './commit-outcome.ts'
import type { CatalogNames } from './names.ts'
import type { CommitRequest, CreateTableOptions, TableCommit } from './requests.ts'

export type { CommitRequest, CreateTableOptions } from './requests.ts'

/** A table as a catalog lists it, without its metadata. */
export interface CatalogEntry {
  /** Display name: the qualified name, plus the catalog's name for another catalog in the same database. */
  readonly name: string
  /** Undefined for a table of another catalog. */
  readonly identifier: TableIdentifier | undefined
  /** The current metadata file; undefined where only {@link load} can find it. */
  readonly metadataLocation: string | undefined
  load(): Promise<Table>
}

/**
 * Where tables are found and committed. Errors are `IcebergError`: `NO_SUCH_NAMESPACE`, `NO_SUCH_TABLE`,
 * `TABLE_EXISTS`, `TABLES_OVERLAP`, `COMMIT_STATE_UNKNOWN` (of a creation: delete nothing), and those of FileIO.
 */
export interface Catalog {
  /** The name that other systems must use for the same catalog. */
  readonly name: string
  /** Base location of new tables. */
  readonly warehouse: string
  /** Locations that may contain tables; default: the warehouse. */
  readonly roots?: readonly string[]
  /** Namespaces and names; absent where only another system may change them. */
  readonly names?: CatalogNames
  /** Resolves when the catalog responds. */
  ping(): Promise<void>
  /** Creates a namespace and its parents; does nothing if it exists. */
  createNamespace(namespace: readonly string[]): Promise<void>
  /** Parents included, sorted. */
  listNamespaces(): Promise<readonly (readonly string[])[]>
  /** All tables, or those of one namespace, sorted by name; loads no metadata. */
  listTables(namespace?: readonly string[]): Promise<readonly TableIdentifier[]>
  /**
   * All tables with their current metadata files, in few requests; also those of other catalogs in the same
   * database. Absent where that needs a request per table.
   */
  listEntries?(): Promise<readonly CatalogEntry[]>
  loadTable(identifier: TableIdentifier): Promise<Table>
  /**
   * The current metadata location only, a cheap way to check whether a table has changed; absent where that needs a load.
   * `known` is the last returned location: where it saves work, only later ones are looked up.
   */
  locateTable?(identifier: TableIdentifier, known?: string): Promise<string>
  /**
   * The file at a location that `locateTable` returned; undefined when it is lost. Absent where that is the business of
   * another server.
   */
  statMetadataFile?(location: string): Promise<FileStatus | undefined>
  /** The namespace must exist. `TABLES_OVERLAP` when another table keeps files in its folders, if that is known. */
  createTable(identifier: TableIdentifier, options: CreateTableOptions): Promise<Table>
  /**
   * Adopts a table by its metadata file. `TABLE_EXISTS` also when the catalog has the table under another name,
   * `TABLES_OVERLAP` when another table keeps files in its folders. `check` is called before the table is visible;
   * what it throws refuses the registration.
   */
  registerTable(
    identifier: TableIdentifier,
    metadataLocation: string,
    check?: (table: Table) => Promise<void>,
  ): Promise<Table>
  /** Removes the table from the catalog; its files stay. */
  dropTable(identifier: TableIdentifier): Promise<void>
  /**
   * Checks requirements against the fresh table, applies the updates and swaps the pointer atomically; with the requirement
   * `assert-create`, adds the table instead, where the catalog has `names`. The outcome is the returned value; callers
   * treat any thrown error as `unknown`.
   */
  commit(identifier: TableIdentifier, request: CommitRequest): Promise<CommitOutcome>
  /**
   * Commits to different existing tables: all of them or none. The requirements of all tables hold at the commit, also of
   * those without updates. Absent where that cannot be done.
   */
  commitAll?(commits: readonly TableCommit[]): Promise<AllOutcome>
  close(): Promise<void>
}
