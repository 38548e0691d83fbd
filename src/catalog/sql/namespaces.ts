import type { Kysely } from 'kysely'

import type { NamespaceChange, NamespaceProperties } from '../names.ts'
import { formatNamespace, withParents } from '../table-identifier.ts'
import { inNamespace, type SqlCatalogTables } from './tables.ts'
import { transact } from './transaction.ts'

/** The property of a namespace without others, as Iceberg's own catalogs write it. */
export const EXISTS = 'exists'

/** Namespaces of one catalog name in the JDBC catalog's tables. */
export interface SqlNamespaces {
  /** Returns false, and changes nothing, when it has properties already. */
  create(namespace: readonly string[], properties?: NamespaceProperties): Promise<boolean>
  properties(namespace: readonly string[]): Promise<NamespaceProperties>
  /** All at once; the namespace stays, also without any property. */
  change(namespace: readonly string[], change: NamespaceChange): Promise<void>
  /** Returns false, and changes nothing, when it has tables, views or namespaces. */
  drop(namespace: readonly string[]): Promise<boolean>
  /** A namespace exists when it, or one below it, has a property or a table. */
  exists(namespace: readonly string[]): Promise<boolean>
  /** All, parents included, sorted. */
  list(): Promise<readonly (readonly string[])[]>
  /** The `location` property, the folder of new tables. */
  location(namespace: readonly string[]): Promise<string | undefined>
}

/** Namespaces under `catalogName`. */
export function createSqlNamespaces(db: Kysely<SqlCatalogTables>, catalogName: string): SqlNamespaces {
  const rowsOf = rowsIn(catalogName)
  const propertiesIn = (source: Kysely<SqlCatalogTables>, namespace: readonly string[]) =>
    source
      .selectFrom('iceberg_namespace_properties')
      .where('catalog_name', '=', catalogName)
      .where('namespace', '=', formatNamespace(namespace))
  return {
    create: (namespace, properties = {}) =>
      transact(db, async (tx) => {
        const row = rowsOf({ [EXISTS]: 'true' }, namespace)
        const insert = tx.insertInto('iceberg_namespace_properties').values(row)
        const result = await insert.onConflict((conflict) => conflict.columns(KEY).doNothing()).executeTakeFirst()
        if (result.numInsertedOrUpdatedRows !== 1n) return false
        const others = rowsOf(properties, namespace)
        if (others.length > 0) await tx.insertInto('iceberg_namespace_properties').values(others).execute()
        return true
      }),
    async properties(namespace) {
      const rows = await propertiesIn(db, namespace).select(['property_key', 'property_value']).execute()
      const shown = rows.filter(({ property_key: key }) => key !== EXISTS)
      return Object.fromEntries(shown.map((row) => [row.property_key ?? '', row.property_value ?? '']))
    },
    change: (namespace, change) => transact(db, (tx) => changeProperties(tx, { catalogName, namespace, ...change })),
    drop: (namespace) => transact(db, (tx) => dropNamespace(tx, catalogName, namespace)),
    async exists(namespace) {
      const name = formatNamespace(namespace)
      const found = [...(await withProperties(db, catalogName, name)), ...(await withTables(db, catalogName, name))]
      return found.some((candidate) => isIn(candidate, name))
    },
    async list() {
      return withParents([...(await withProperties(db, catalogName)), ...(await withTables(db, catalogName))])
    },
    async location(namespace) {
      const query = propertiesIn(db, namespace).where('property_key', '=', 'location').select('property_value')
      return (await query.executeTakeFirst())?.property_value ?? undefined
    },
  }
}

interface PropertyChange extends NamespaceChange {
  readonly catalogName: string
  readonly namespace: readonly string[]
}

async function changeProperties(
  tx: Kysely<SqlCatalogTables>,
  { catalogName, namespace, removals, updates }: PropertyChange,
): Promise<void> {
  const changed = [...removals.filter((name) => name !== EXISTS), ...Object.keys(updates)]
  if (changed.length > 0) {
    const rows = tx.deleteFrom('iceberg_namespace_properties').where('catalog_name', '=', catalogName)
    const named = rows.where('namespace', '=', formatNamespace(namespace))
    await named.where('property_key', 'in', changed).execute()
  }
  const rowsOf = rowsIn(catalogName)
  const exists = tx.insertInto('iceberg_namespace_properties').values(rowsOf({ [EXISTS]: 'true' }, namespace))
  await exists.onConflict((conflict) => conflict.columns(KEY).doNothing()).execute()
  const added = rowsOf(updates, namespace)
  if (added.length > 0) await tx.insertInto('iceberg_namespace_properties').values(added).execute()
}

async function dropNamespace(
  tx: Kysely<SqlCatalogTables>,
  catalogName: string,
  namespace: readonly string[],
): Promise<boolean> {
  const name = formatNamespace(namespace)
  const inside = (names: readonly string[]): readonly string[] => names.filter((one) => isIn(one, name))
  if (inside(await withTables(tx, catalogName, name)).length > 0) return false
  if (inside(await withProperties(tx, catalogName, name)).some((one) => one !== name)) return false
  const rows = tx.deleteFrom('iceberg_namespace_properties').where('catalog_name', '=', catalogName)
  await rows.where('namespace', '=', name).execute()
  return true
}

/** Rows of the properties of a namespace. */
function rowsIn(catalogName: string) {
  return (properties: NamespaceProperties, namespace: readonly string[]) =>
    Object.entries(properties).map(([key, value]) => ({
      catalog_name: catalogName,
      namespace: formatNamespace(namespace),
      property_key: key,
      property_value: value,
    }))
}

const KEY = ['catalog_name', 'namespace', 'property_key'] as const

/** Whether a dotted name is the namespace or below it. */
function isIn(candidate: string, namespace: string): boolean {
  return candidate === namespace || candidate.startsWith(`${namespace}.`)
}

async function withProperties(db: Kysely<SqlCatalogTables>, catalogName: string, name?: string): Promise<string[]> {
  let query = db.selectFrom('iceberg_namespace_properties').select('namespace').distinct()
  query = query.where('catalog_name', '=', catalogName)
  if (name !== undefined) query = query.where(inNamespace('namespace', name))
  return (await query.execute()).map((row) => row.namespace)
}

async function withTables(db: Kysely<SqlCatalogTables>, catalogName: string, name?: string): Promise<string[]> {
  let query = db.selectFrom('iceberg_tables').select('table_namespace').distinct()
  query = query.where('catalog_name', '=', catalogName)
  if (name !== undefined) query = query.where(inNamespace('table_namespace', name))
  return (await query.execute()).map((row) => row.table_namespace)
}
