import { type Kysely, PostgresAdapter, SqliteAdapter, sql } from 'kysely'
import { IcebergError } from '../../iceberg/errors.ts'

/**
 * The tables of Iceberg's JDBC catalog, which PyIceberg's SQL catalog shares. Names, columns and semantics are theirs;
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
 * Creates missing catalog tables with `iceberg_type`, so that Java recognises them as V1 without a setting; existing
 * ones are never altered. Returns their version. Without `create`, throws `INVALID_ARGUMENT` for a missing one.
 */
export async function prepareSqlCatalog(
  db: Kysely<SqlCatalogTables>,
  options: { readonly create: boolean } = { create: true },
): Promise<SqlCatalogVersion> {
  for (const [name, create] of TABLES) {
    if ((await columnsOf(db, name)).length > 0) continue
    if (!options.create)
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `The database has no table ${name}; setting the catalog with PUT /api/config creates it.`,
      )
    await createOnce(db, name, create)
  }
  return (await columnsOf(db, 'iceberg_tables')).includes('iceberg_type') ? 'V1' : 'V0'
}

type CreateTable = (db: Kysely<SqlCatalogTables>) => Promise<void>

const TABLES: ReadonlyMap<keyof SqlCatalogTables, CreateTable> = new Map([
  ['iceberg_tables', createTablesTable],
  ['iceberg_namespace_properties', createNamespacesTable],
])

/** In PostgreSQL, only one of several concurrent "create table if not exists" statements succeeds. */
async function createOnce(db: Kysely<SqlCatalogTables>, name: string, create: CreateTable): Promise<void> {
  try {
    await create(db)
  } catch (error) {
    if ((await columnsOf(db, name)).length === 0) throw error
  }
}

/** The columns of the table that queries resolve under this name; none when there is no such table. */
async function columnsOf(db: Kysely<SqlCatalogTables>, table: string): Promise<readonly string[]> {
  const columns = isPostgres(db) ? visibleColumns(table) : sql<Column>`select name from pragma_table_info(${table})`
  return (await columns.execute(db)).rows.map(({ name }) => name)
}

interface Column {
  readonly name: string
}

/** Other schemas may have tables of the same name: only the search path counts. */
function visibleColumns(table: string) {
  return sql<Column>`select a.attname::text as name
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where c.relname = ${table} and c.relkind in ('r', 'p', 'v', 'f') and pg_catalog.pg_table_is_visible(c.oid)
      and a.attnum > 0 and not a.attisdropped`
}

function isPostgres(db: Kysely<SqlCatalogTables>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
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

/** The catalog names that have tables or namespaces in a database, sorted; used to report a wrong name. */
export async function listCatalogNames(db: Kysely<SqlCatalogTables>): Promise<readonly string[]> {
  const tables = db.selectFrom('iceberg_tables').select('catalog_name').distinct()
  const namespaces = db.selectFrom('iceberg_namespace_properties').select('catalog_name').distinct()
  const rows = await tables.union(namespaces).execute()
  return rows.map((row) => row.catalog_name).sort()
}

/** Only tables: in V1, rows of views are excluded. */
export function onlyTables(version: SqlCatalogVersion) {
  return version === 'V0' ? sql<boolean>`1 = 1` : sql<boolean>`(iceberg_type = 'TABLE' or iceberg_type is null)`
}

/** Matches the namespace itself and its descendants. Only narrows the rows: SQLite's LIKE ignores case. */
export function inNamespace(column: 'namespace' | 'table_namespace', namespace: string) {
  const below = `${namespace.replaceAll(/[!_%]/g, '!$&')}.%`
  return sql<boolean>`(${sql.ref(column)} = ${namespace} or ${sql.ref(column)} like ${below} escape '!')`
}

/** Whether a driver's error says that the statement had no effect and will have none; SQLite errors do not say. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && 'refused' in error && error.refused === true
}

/** Whether a statement was refused because of concurrent statements. */
export function isBusy(error: unknown): boolean {
  return isRefusal(error) && 'code' in error && error.code === 'BUSY'
}

/** Whether the database cannot finish a statement after it reported an error: SQLite runs in this process. */
export function failuresAreFinal(db: Kysely<SqlCatalogTables>): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}
