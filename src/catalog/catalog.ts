import type { FileStatus } from '../iceberg/io/file-io.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { AllOutcome, CommitOutcome } from './commit-outcome.ts'
import type { StagedCommit } from '../iceberg/update/staged-commit.ts'
import type { TableRequirement, TableUpdate } from '../iceberg/update/table-update.ts'
import type { CatalogNames, CreateTableOptions } from './names.ts'

export type { CreateTableOptions } from './names.ts'

/** Looks at a table that a catalog would get, and throws to refuse it. */
export type TableCheck = (table: Table) => Promise<void>

/** A table as a catalog lists it, without its metadata. */
export interface CatalogEntry {
  /** Display name: the qualified name, plus the catalog's name for another catalog in the same database. */
  readonly name: string
  /** Undefined for a table of another catalog. */
  readonly identifier: TableIdentifier | undefined
  /** For a table of another catalog in the same database: the name of that catalog, and the table there. */
  readonly foreign?: { readonly catalogName: string; readonly identifier: TableIdentifier }
  /** Stands for all tables of this catalog, which does not respond. */
  readonly unknownCatalog?: string
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
  /**
   * Where this stands for several catalogs: the one of a name, undefined for the default one. Its tables have identifiers with its name.
   * Absent where this is one catalog. Use {@link memberOf}. Throws `NO_SUCH_TABLE` when there is none.
   */
  member?(name: string | undefined): Catalog
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
  /**
   * All tables whose files must stay, and entries that stand for those of a catalog that does not respond. Absent where these are
   * the tables that `listEntries` or `listTables` return, which fail when they do not know.
   */
  listNeeded?(): Promise<readonly CatalogEntry[]>
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
  /**
   * The namespace must exist. `TABLES_OVERLAP` when another table keeps files in its folders, if that is known. `check` is called
   * before anything is written, unless only a server knows the folders; what it throws refuses the creation.
   */
  createTable(identifier: TableIdentifier, options: CreateTableOptions, check?: TableCheck): Promise<Table>
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
   * Removes a table that `createTable` of this catalog has just returned, unless anybody changed the table since. Absent
   * where `dropTable` does that.
   */
  undoCreation?(created: Table): Promise<void>
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

export interface CommitRequest {
  readonly requirements: readonly TableRequirement[]
  readonly updates: readonly TableUpdate[]
  /**
   * Called before the commit is sent, so that after a crash the table shows whether it happened, and its files can be
   * cleaned up. Where the file is the pointer (hadoop), another commit may get its name: look for the snapshot.
   */
  readonly onStaged?: (staged: StagedCommit) => Promise<void>
  /**
   * Called right before the commit takes effect, after every file of the commit is written; throws to refuse the commit.
   * A slow store may take longer for the files than a lock is valid.
   */
  readonly confirm?: () => Promise<void>
  /**
   * Commits a new metadata file although the updates change nothing. A commit that began on an earlier metadata file
   * then fails for ever. `UNSUPPORTED` where a server applies commits: the server would apply the earlier commit too.
   */
  readonly isFence?: boolean
  /**
   * Called before anything is written, with the table that the commit is based on (undefined: it is created) and the
   * result; throws to refuse the commit. Behind a REST server, another commit may come in between.
   */
  readonly check?: (base: Table | undefined, next: Table) => Promise<void>
  /** The catalogs with tables that may need a metadata file that the commit deletes; default: the one with the table. */
  readonly neighbours?: Catalog
}

/** A commit to one of several tables. */
export interface TableCommit {
  readonly identifier: TableIdentifier
  readonly request: CommitRequest
}

/**
 * The catalog of a table: its locations, name and namespaces are not those of the default one. Throws `NO_SUCH_TABLE` when there
 * is no such catalog, `IO_FAILED` while it could not be opened.
 */
export function memberOf(catalog: Catalog, { catalog: name }: { readonly catalog?: string | undefined }): Catalog {
  return catalog.member === undefined ? catalog : catalog.member(name)
}
