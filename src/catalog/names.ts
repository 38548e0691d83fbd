import type { PartitionSpec } from '../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../iceberg/partitioning/sort-order.ts'
import type { Schema } from '../iceberg/schema/schema.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../iceberg/metadata/table.ts'

export interface CreateTableOptions {
  readonly schema: Schema
  readonly partitionSpec?: PartitionSpec
  readonly sortOrder?: SortOrder
  /** Default: `<warehouse>/<namespace levels>/<name>`. */
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  /** Default 2. */
  readonly formatVersion?: 1 | 2 | 3
}

/** Properties of a namespace. */
export type NamespaceProperties = Readonly<Record<string, string>>

/** A change of a namespace's properties; no name is in both. */
export interface NamespaceChange {
  readonly removals: readonly string[]
  readonly updates: NamespaceProperties
}

/** Namespaces and names of a catalog, as clients of the Iceberg REST protocol manage them. */
export interface CatalogNames {
  /** Throws `NO_SUCH_NAMESPACE`. */
  properties(namespace: readonly string[]): Promise<NamespaceProperties>
  /** Throws `NAMESPACE_EXISTS`. */
  create(namespace: readonly string[], properties: NamespaceProperties): Promise<void>
  /** Changes all properties at once. Removing a name that is not set does nothing. Throws `NO_SUCH_NAMESPACE`. */
  change(namespace: readonly string[], change: NamespaceChange): Promise<void>
  /** Removes an empty namespace. Throws `NAMESPACE_NOT_EMPTY`, `NO_SUCH_NAMESPACE`. */
  drop(namespace: readonly string[]): Promise<void>
  /** Gives a table another name; its files stay where they are. Throws `TABLE_EXISTS`, `NO_SUCH_TABLE`, `NO_SUCH_NAMESPACE`. */
  rename(from: TableIdentifier, to: TableIdentifier): Promise<void>
  /**
   * The first metadata of a table that a later commit with `assert-create` will add; writes nothing. Errors as
   * `Catalog.createTable`.
   */
  stage(identifier: TableIdentifier, options: CreateTableOptions): Promise<TableMetadata>
}
