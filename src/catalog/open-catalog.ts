import { Kysely, type Dialect } from 'kysely'
import { IcebergError } from '../iceberg/errors.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import type { CatalogSettings } from './catalog-settings.ts'
import type { Catalog } from './catalog.ts'
import { createHadoopCatalog } from './hadoop-catalog.ts'
import { createSqlCatalog } from './sql-catalog.ts'
import { isPostgresUri, parsePostgresUri, type PostgresAddress } from './sql-postgres-address.ts'
import type { SqlCatalogTables } from './sql-tables.ts'

export interface OpenCatalogDeps {
  /** A dialect over an absolute path of a SQLite file, or one against the working directory. */
  readonly openSqlite: (path: string) => Dialect
  /** A dialect over a PostgreSQL server; the first query connects. */
  readonly openPostgres: (address: PostgresAddress) => Promise<Dialect>
  /** Looks up an `env:NAME` value. */
  readonly readSecret: (name: string) => string | undefined
}

/** Extra property: further folders that tables may lie in, separated by commas. */
const ALLOWED_LOCATIONS = 'allowed-locations'

/**
 * Opens the catalog that the settings describe, over files of this machine. Errors: `INVALID_ARGUMENT` for settings
 * that make no sense, `UNSUPPORTED` for catalogs and stores that are not supported yet, and those of `Catalog.ping`.
 */
export async function openCatalog(settings: CatalogSettings, deps: OpenCatalogDeps): Promise<Catalog> {
  const { catalogName: name, warehouse } = settings
  const io = new LocalFileIO({ roots: [localFolder(warehouse), ...allowedLocations(settings, deps)] })
  switch (settings.catalogType) {
    case 'hadoop':
      return createHadoopCatalog({ name, warehouse, io })
    case 'sql': {
      const db = new Kysely<SqlCatalogTables>({ dialect: await sqlDialect(settings, deps) })
      return createSqlCatalog({ db, name, warehouse, io })
    }
    case 'rest':
      throw new IcebergError('UNSUPPORTED', 'catalog_type rest is not supported yet: use sql or hadoop')
  }
}

async function sqlDialect(settings: CatalogSettings, deps: OpenCatalogDeps): Promise<Dialect> {
  const { uri } = settings
  if (uri === null || !isPostgresUri(uri)) return deps.openSqlite(sqlitePath(uri))
  const password = readProperty('password', settings, deps)
  return deps.openPostgres(parsePostgresUri(uri, { password, clients: readProperty('clients', settings, deps) }))
}

function allowedLocations(settings: CatalogSettings, deps: OpenCatalogDeps): string[] {
  const text = readProperty(ALLOWED_LOCATIONS, settings, deps)
  return text === undefined ? [] : text.split(',').map((location) => localFolder(location.trim()))
}

/** An extra property; an `env:NAME` value is looked up. */
function readProperty(
  key: string,
  { extraProps }: CatalogSettings,
  { readSecret }: OpenCatalogDeps,
): string | undefined {
  const value = extraProps[key]
  if (value?.startsWith('env:') !== true) return value
  const text = readSecret(value.slice('env:'.length))
  if (text === undefined) throw new IcebergError('INVALID_ARGUMENT', `extra_props.${key}: ${value} is not set`)
  return text
}

function localFolder(location: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'file') {
    throw new IcebergError('UNSUPPORTED', `${scheme} locations are not supported yet: use a folder of this machine`)
  }
  if (scheme === undefined && !location.startsWith('/')) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `the location ${JSON.stringify(location)} must be an absolute path or file: URI`,
    )
  }
  return location
}

/** The file of a `sqlite:///relative`, `sqlite:////absolute` (as SQLAlchemy reads them) or `jdbc:sqlite:path` URI. */
function sqlitePath(uri: string | null): string {
  const path = /^(?:sqlite:\/\/\/|jdbc:sqlite:(?:file:)?)([^?]+)$/.exec(uri ?? '')?.[1]
  if (path !== undefined && path !== ':memory:') return path
  throw new IcebergError(
    'INVALID_ARGUMENT',
    'uri of an sql catalog must be sqlite:///path, four slashes for an absolute one, or postgresql://user@host/database',
  )
}
