import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * The tables of Iceberg's JDBC catalog, which PyIceberg's SQL catalog shares. Names, columns and meaning are theirs;
 * namespaces are dotted text.
 */
export interface SqlCatalogTables {
  readonly iceberg_tables: IcebergTablesTable
  readonly iceberg_namespace_properties: IcebergNamespacePropertiesTable
}

export interface IcebergTablesTable {
  catalog_name: string
  table_namespace: string
  table_name: string
  metadata_location: string | null
  previous_metadata_location: string | null
  /** Schema version V1 only: `TABLE`, `VIEW`, or NULL for a table. */
  iceberg_type?: string | null
}

export interface IcebergNamespacePropertiesTable {
  catalog_name: string
  namespace: string
  property_key: string | null
  property_value: string | null
}

/** V0 has no `iceberg_type` column. */
export type SqlCatalogVersion = 'V0' | 'V1'

/**
 * Makes the catalog's tables where they are missing, with `iceberg_type`, so that Java takes them for V1 without being
 * told; existing ones are never altered. Answers their version.
 */
export async function prepareSqlCatalog(db: Kysely<SqlCatalogTables>): Promise<SqlCatalogVersion> {
  const found = await existingTables(db)
  if (!found.has('iceberg_tables')) await createTablesTable(db)
  if (!found.has('iceberg_namespace_properties')) await createNamespacesTable(db)
  const columns = found.get('iceberg_tables')
  return columns === undefined || columns.includes('iceberg_type') ? 'V1' : 'V0'
}

async function existingTables(db: Kysely<SqlCatalogTables>): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = await db.introspection.getTables()
  return new Map(tables.map((table) => [table.name, table.columns.map((column) => column.name)]))
}

async function createTablesTable(db: Kysely<SqlCatalogTables>): Promise<void> {
  await db.schema
    .createTable('iceberg_tables')
    .ifNotExists()
    .addColumn('catalog_name', 'varchar(255)', (column) => column.notNull())
    .addColumn('table_namespace', 'varchar(255)', (column) => column.notNull())
    .addColumn('table_name', 'varchar(255)', (column) => column.notNull())
    .addColumn('metadata_location', 'varchar(1000)')
    .addColumn('previous_metadata_location', 'varchar(1000)')
    .addColumn('iceberg_type', 'varchar(5)')
    .addPrimaryKeyConstraint('iceberg_tables_pk', ['catalog_name', 'table_namespace', 'table_name'])
    .execute()
}

async function createNamespacesTable(db: Kysely<SqlCatalogTables>): Promise<void> {
  await db.schema
    .createTable('iceberg_namespace_properties')
    .ifNotExists()
    .addColumn('catalog_name', 'varchar(255)', (column) => column.notNull())
    .addColumn('namespace', 'varchar(255)', (column) => column.notNull())
    .addColumn('property_key', 'varchar(255)', (column) => column.notNull())
    .addColumn('property_value', 'varchar(1000)', (column) => column.notNull())
    .addPrimaryKeyConstraint('iceberg_namespace_properties_pk', ['catalog_name', 'namespace', 'property_key'])
    .execute()
}

/** The catalog names that have tables or namespaces in a database, sorted; for telling a wrong name. */
export async function listCatalogNames(db: Kysely<SqlCatalogTables>): Promise<readonly string[]> {
  const tables = db.selectFrom('iceberg_tables').select('catalog_name').distinct()
  const namespaces = db.selectFrom('iceberg_namespace_properties').select('catalog_name').distinct()
  const rows = await tables.union(namespaces).execute()
  return rows.map((row) => row.catalog_name).sort()
}

/** Only tables: in V1, rows of views are left out. */
export function onlyTables(version: SqlCatalogVersion) {
  return version === 'V0' ? sql<boolean>`1 = 1` : sql<boolean>`(iceberg_type = 'TABLE' or iceberg_type is null)`
}

/** Column `column` is the namespace itself or one below it. A hint for the index only: SQLite's LIKE ignores case. */
export function inNamespace(column: 'namespace' | 'table_namespace', namespace: string) {
  const below = `${namespace.replaceAll(/[!_%]/g, '!$&')}.%`
  return sql<boolean>`(${sql.ref(column)} = ${namespace} or ${sql.ref(column)} like ${below} escape '!')`
}

/** Whether the database cannot finish a statement after it reported an error: SQLite runs in this process. */
export function failuresAreFinal(db: Kysely<SqlCatalogTables>): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}
