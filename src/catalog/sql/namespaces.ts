import type { Kysely } from 'kysely'

import { inNamespace, type SqlCatalogTables } from './tables.ts'
import { formatNamespace, withParents } from '../table-identifier.ts'

/** Namespaces of one catalog name in the JDBC catalog's tables. */
export interface SqlNamespaces {
  /** Does nothing if it exists. */
  create(namespace: readonly string[]): Promise<void>
  /** A namespace exists when it, or one below it, has a property or a table. */
  exists(namespace: readonly string[]): Promise<boolean>
  /** All, parents included, sorted. */
  list(): Promise<readonly (readonly string[])[]>
  /** The `location` property, the folder of new tables. */
  location(namespace: readonly string[]): Promise<string | undefined>
}

/** Namespaces under `catalogName`. */
export function createSqlNamespaces(db: Kysely<SqlCatalogTables>, catalogName: string): SqlNamespaces {
  return {
    async create(namespace) {
      const row = { catalog_name: catalogName, namespace: formatNamespace(namespace) }
      await db
        .insertInto('iceberg_namespace_properties')
        .values({ ...row, property_key: 'exists', property_value: 'true' })
        .onConflict((conflict) => conflict.columns(['catalog_name', 'namespace', 'property_key']).doNothing())
        .execute()
    },
    async exists(namespace) {
      const name = formatNamespace(namespace)
      const found = [...(await withProperties(db, catalogName, name)), ...(await withTables(db, catalogName, name))]
      return found.some((candidate) => candidate === name || candidate.startsWith(`${name}.`))
    },
    async list() {
      return withParents([...(await withProperties(db, catalogName)), ...(await withTables(db, catalogName))])
    },
    async location(namespace) {
      const query = db.selectFrom('iceberg_namespace_properties').select('property_value')
      const ofNamespace = query
        .where('catalog_name', '=', catalogName)
        .where('namespace', '=', formatNamespace(namespace))
      const row = await ofNamespace.where('property_key', '=', 'location').executeTakeFirst()
      return row?.property_value ?? undefined
    },
  }
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
