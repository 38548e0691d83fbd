import { Kysely, type Dialect } from 'kysely'
import { IcebergError } from '../iceberg/errors.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import type { CatalogSettings } from './catalog-settings.ts'
import type { Catalog } from './catalog.ts'
import { createHadoopCatalog } from './hadoop-catalog.ts'
import { createSqlCatalog } from './sql-catalog.ts'
import type { SqlCatalogTables } from './sql-tables.ts'

export interface OpenCatalogDeps {
  /** A dialect over an absolute path of a SQLite file, or one against the working directory. */
  readonly openSqlite: (path: string) => Dialect
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
      const db = new Kysely<SqlCatalogTables>({ dialect: deps.openSqlite(sqlitePath(settings.uri)) })
      return createSqlCatalog({ db, name, warehouse, io })
    }
    case 'rest':
      throw new IcebergError('UNSUPPORTED', 'catalog_type rest is not supported yet: use sql or hadoop')
  }
}

function allowedLocations({ extraProps }: CatalogSettings, { readSecret }: OpenCatalogDeps): string[] {
  const value = extraProps[ALLOWED_LOCATIONS]
  if (value === undefined) return []
  const text = value.startsWith('env:') ? readSecret(value.slice('env:'.length)) : value
  if (text === undefined)
    throw new IcebergError('INVALID_ARGUMENT', `extra_props.${ALLOWED_LOCATIONS}: ${value} is not set`)
  return text.split(',').map((location) => localFolder(location.trim()))
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
  if (uri !== null && /^(jdbc:)?postgres(ql)?:/.test(uri)) {
    throw new IcebergError('UNSUPPORTED', 'PostgreSQL catalogs are not supported yet: use sqlite:///path')
  }
  throw new IcebergError(
    'INVALID_ARGUMENT',
    'uri of an sql catalog must be sqlite:///path, four slashes for an absolute one',
  )
}
