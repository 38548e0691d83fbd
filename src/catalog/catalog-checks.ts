import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { Catalog } from './catalog.ts'

/** A result of a check that did not fail; a failed one throws an `IcebergError`. */
export interface CheckResult {
  readonly outcome: 'ok' | 'skipped'
  /** What was found, as sentences. */
  readonly detail: string
  readonly hint?: string
}

/** Which commit may be checked. */
export interface CommitCheck {
  /** A table of the catalog; undefined: none could be loaded. */
  readonly table: Table | undefined
  /** Whether the caller asked for a commit request, which the server must refuse. */
  readonly isAsked: boolean
}

/** The namespaces and tables that a catalog lists, or the first of them. */
export interface CatalogListing {
  readonly namespaces: number
  readonly tables: readonly TableIdentifier[]
  /** False: the time did not suffice to list all. */
  readonly isComplete: boolean
}

/** The credentials that requests to a store use. */
export interface CredentialsInUse {
  /** A noun phrase, such as `static keys of s3.access-key-id`; never a secret. */
  readonly source: string
  /** When they expire, ms since the epoch; undefined: never, or nobody knows. */
  readonly expiresAtMs?: number
  /** True: others replaced them when they were renewed. Undefined: they cannot be renewed. */
  readonly isRenewed?: true
}

/** What a test of the connection needs besides the methods of a catalog. Nothing here changes a table or the catalog. */
export interface CatalogChecks {
  /** Resolves when the server or the database responds, with a sentence about it. Asks for no namespace and no table. */
  reach(): Promise<string>
  /**
   * Lists tables for about `limitMs`, where a list needs a request or a read per namespace. Absent where `listTables` needs
   * few queries.
   */
  list?(limitMs: number): Promise<CatalogListing>
  /** Checks that commits can be accepted. Throws when the catalog refuses commits, or accepts one that it must refuse. */
  commit(check: CommitCheck): Promise<CheckResult>
  /**
   * The credentials that the catalog lends for the files of a table, after they were renewed once; undefined when it lends
   * none. Absent where no server lends credentials.
   */
  lent?(table: Table): Promise<CredentialsInUse | undefined>
}

/** A catalog whose connection can be tested. */
export interface CheckableCatalog extends Catalog {
  readonly checks: CatalogChecks
}
