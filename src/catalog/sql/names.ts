import type { Kysely } from 'kysely'

import { IcebergError } from '../../iceberg/errors.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { CreateTableOptions } from '../catalog.ts'
import type { CatalogNames, NamespaceChange, NamespaceProperties } from '../names.ts'
import { checkIdentifier, checkNamespace, checkNewIdentifier, checkNewNamespace } from '../table-identifier.ts'
import { formatIdentifier, formatNamespace } from '../table-identifier.ts'
import { EXISTS, type SqlNamespaces } from './namespaces.ts'
import { query } from './query.ts'
import { onlyTables, type SqlCatalogTables, type SqlCatalogVersion } from './tables.ts'

export interface SqlNamesParts {
  readonly db: Kysely<SqlCatalogTables>
  readonly catalogName: string
  readonly namespaces: SqlNamespaces
  prepare(): Promise<SqlCatalogVersion>
  /** Throws `TABLE_EXISTS`. */
  requireFree(identifier: TableIdentifier): Promise<void>
  /** Throws `NO_SUCH_NAMESPACE`. */
  requireNamespace(namespace: readonly string[]): Promise<void>
  /** Throws `NO_SUCH_TABLE`. */
  requireTable(identifier: TableIdentifier): Promise<void>
  stage(identifier: TableIdentifier, options: CreateTableOptions): Promise<TableMetadata>
  /** Throws `INVALID_ARGUMENT` for a folder that a namespace must not have. */
  checkLocation(namespace: readonly string[], location: string): Promise<void>
}

/** Longest key and value in the JDBC catalog's table of properties. */
const MAX_KEY_LENGTH = 255
const MAX_VALUE_LENGTH = 1000

/** Namespaces and names in the tables of the JDBC catalog. */
export function createSqlNames(parts: SqlNamesParts): CatalogNames {
  const { namespaces } = parts
  return {
    async properties(namespace) {
      await requireNamespace(parts, namespace)
      return query(() => namespaces.properties(namespace))
    },
    async create(namespace, properties) {
      checkNewNamespace(namespace)
      checkProperties(properties)
      await parts.prepare()
      await checkLocation(parts, namespace, properties)
      if (!(await query(() => namespaces.exists(namespace)))) {
        if (await query(() => namespaces.create(namespace, properties))) return
      }
      throw new IcebergError('NAMESPACE_EXISTS', `Namespace already exists: ${formatNamespace(namespace)}`)
    },
    async change(namespace, change) {
      checkChange(change)
      await requireNamespace(parts, namespace)
      await checkLocation(parts, namespace, change.updates)
      await query(() => namespaces.change(namespace, change))
    },
    async drop(namespace) {
      await requireNamespace(parts, namespace)
      if (await query(() => namespaces.drop(namespace))) return
      const message = `Namespace ${formatNamespace(namespace)} is not empty: drop its tables, views and namespaces first.`
      throw new IcebergError('NAMESPACE_NOT_EMPTY', message)
    },
    rename: (from, to) => rename(parts, from, to),
    stage: (identifier, options) => parts.stage(identifier, options),
  }
}

async function requireNamespace(parts: SqlNamesParts, namespace: readonly string[]): Promise<void> {
  checkNamespace(namespace)
  await parts.prepare()
  await parts.requireNamespace(namespace)
}

async function checkLocation(parts: SqlNamesParts, namespace: readonly string[], { location }: NamespaceProperties) {
  if (location !== undefined) await parts.checkLocation(namespace, location)
}

async function rename(parts: SqlNamesParts, from: TableIdentifier, to: TableIdentifier): Promise<void> {
  checkIdentifier(from)
  checkNewIdentifier(to)
  const version = await parts.prepare()
  await parts.requireTable(from)
  await parts.requireNamespace(to.namespace)
  if (formatIdentifier(from) === formatIdentifier(to)) return
  await parts.requireFree(to)
  const renaming = parts.db
    .updateTable('iceberg_tables')
    .set({ table_namespace: formatNamespace(to.namespace), table_name: to.name })
    .where('catalog_name', '=', parts.catalogName)
    .where('table_namespace', '=', formatNamespace(from.namespace))
    .where('table_name', '=', from.name)
    .where(onlyTables(version))
  try {
    const { numUpdatedRows } = await query(() => renaming.executeTakeFirst())
    if (numUpdatedRows === 0n) await parts.requireTable(from) // dropped meanwhile
  } catch (error) {
    await parts.requireFree(to) // another request may have taken the name
    throw error
  }
}

function checkChange({ removals, updates }: NamespaceChange): void {
  checkProperties(updates)
  const both = removals.find((name) => Object.hasOwn(updates, name))
  if (both !== undefined) throw invalid(`property ${JSON.stringify(both)} is both set and removed`)
}

function checkProperties(properties: NamespaceProperties): void {
  for (const [name, value] of Object.entries(properties)) {
    const shown = JSON.stringify(name.slice(0, 80))
    if (name === '' || name.length > MAX_KEY_LENGTH) throw invalid(`property ${shown} must have 1 to 255 characters`)
    if (value.length > MAX_VALUE_LENGTH) throw invalid(`the value of ${shown} may have at most 1,000 characters`)
    if (name.includes('\0') || value.includes('\0')) throw invalid(`property ${shown} contains a null character`)
    if (!name.isWellFormed() || !value.isWellFormed())
      throw invalid(`property ${shown} contains half of a surrogate pair`)
    if (name === EXISTS) throw invalid(`property ${shown} is reserved`)
  }
}

function invalid(problem: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `Namespace properties: ${problem}.`)
}
