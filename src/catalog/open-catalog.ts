import { Kysely, type Dialect } from 'kysely'
import { IcebergError } from '../iceberg/errors.ts'
import { ALLOWED_LOCATIONS, type CatalogSettings, propertyReader, type ReadProperty } from './settings.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import type { Catalog } from './catalog.ts'
import type { CheckableCatalog, CredentialsInUse } from './catalog-checks.ts'
import { createHadoopCatalog } from './hadoop/catalog.ts'
import { createRestCatalog } from './rest/catalog.ts'
import type { RestLimits } from './rest/client.ts'
import { onlyStores } from './rest/file-io.ts'
import { restSettings } from './rest/settings.ts'
import { createSqlCatalog } from './sql/catalog.ts'
import { isPostgresUri, parsePostgresUri, type PostgresAddress } from './sql/postgres-address.ts'
import type { SqlCatalogTables } from './sql/tables.ts'
import { credentialsInUse } from './stores/credentials-in-use.ts'
import { isStoreLocation, openTableFiles, storeSchemes } from './stores/table-files.ts'

export interface OpenCatalogDeps {
  /** A dialect over an absolute path of a SQLite file, or one relative to the working directory. */
  readonly openSqlite: (path: string) => Dialect | Promise<Dialect>
  /** A dialect over a PostgreSQL server; the first query connects. */
  readonly openPostgres: (address: PostgresAddress) => Promise<Dialect>
  /** Looks up an `env:NAME` value. */
  readonly readSecret: (name: string) => string | undefined
}

/**
 * Opens the catalog that the settings describe, with local files or an object store. Errors:
 * `INVALID_ARGUMENT` for invalid settings, `UNSUPPORTED` for catalogs and stores that are not supported (yet),
 * and those of `Catalog.ping`.
 */
export async function openCatalog(settings: CatalogSettings, deps: OpenCatalogDeps): Promise<Catalog> {
  const parts = await openParts(settings, deps)
  return openOver(settings, deps, parts)
}

/** Limits of a test of a connection. */
export interface CheckLimits {
  /** How long a request to a REST server may take, ms. */
  readonly limitMs: number
  /** Aborts the requests to a REST server. */
  readonly signal: AbortSignal
}

/** A catalog that was opened for a test of its connection. */
export interface CatalogToCheck {
  readonly catalog: CheckableCatalog
  /** The files below the warehouse and the other allowed locations, with the credentials of the settings. */
  readonly io: FileIO
  /** Whether the warehouse is a location of `io`; false: a name that only the server of a REST catalog knows. */
  readonly hasLocation: boolean
  /** The credentials of the settings for a location; undefined for files of this machine. */
  credentialsAt(location: string): Promise<CredentialsInUse | undefined>
}

/**
 * Opens a catalog for a test of its connection: it creates no tables in a database, and does not retry requests to a busy
 * REST server. Errors as {@link openCatalog}.
 */
export async function openCatalogToCheck(
  settings: CatalogSettings,
  deps: OpenCatalogDeps,
  { limitMs, signal }: CheckLimits,
): Promise<CatalogToCheck> {
  const parts = await openParts(settings, deps)
  const limits = { readMs: limitMs, changeMs: limitMs, retries: 0, signal }
  return {
    catalog: await openOver(settings, deps, { ...parts, createsTables: false, limits }),
    io: parts.io,
    hasLocation: warehouseRoots(settings).length > 0,
    credentialsAt: (location) => credentialsInUse(location, parts.property),
  }
}

interface CatalogParts {
  readonly property: ReadProperty
  readonly roots: readonly string[]
  readonly io: FileIO
  readonly createsTables?: boolean
  readonly limits?: Partial<RestLimits>
}

async function openParts(settings: CatalogSettings, deps: OpenCatalogDeps): Promise<CatalogParts> {
  const property = propertyReader(settings, deps.readSecret)
  const roots = [...warehouseRoots(settings), ...allowedLocations(property)]
  return { property, roots, io: await openTableFiles(roots, property) }
}

async function openOver(
  settings: CatalogSettings,
  deps: OpenCatalogDeps,
  { property, roots, io, createsTables = true, limits = {} }: CatalogParts,
): Promise<CheckableCatalog> {
  const { catalogName: name, warehouse } = settings
  switch (settings.catalogType) {
    case 'hadoop':
      if (isStoreLocation(warehouse)) throw notExclusive()
      return createHadoopCatalog({ name, warehouse, io, roots })
    case 'sql': {
      const db = new Kysely<SqlCatalogTables>({ dialect: await sqlDialect(settings.uri, property, deps) })
      return createSqlCatalog({ db, name, warehouse, io, roots, createsTables })
    }
    case 'rest': {
      const files = onlyStores(storeSchemes(roots), io)
      return createRestCatalog({ settings: restSettings(settings, deps.readSecret), io: files, roots, limits })
    }
  }
}

/** A commit is the exclusive creation of a name, which not every object store guarantees. */
function notExclusive(): IcebergError {
  const message = 'a hadoop catalog in an object store can lose commits of other writers: use a sql or rest catalog'
  return new IcebergError('UNSUPPORTED', message)
}

async function sqlDialect(uri: string | null, property: ReadProperty, deps: OpenCatalogDeps): Promise<Dialect> {
  if (uri === null || !isPostgresUri(uri)) return deps.openSqlite(sqlitePath(uri))
  return deps.openPostgres(parsePostgresUri(uri, { password: property('password'), clients: property('clients') }))
}

/**
 * Where the tables of a catalog may be that could not be opened, as its settings say; empty where they do not say it: a REST
 * catalog has a name for its warehouse, or a variable has the allowed locations.
 */
export function rootsOfClosed(settings: CatalogSettings): readonly string[] {
  const allowed = settings.extraProps[ALLOWED_LOCATIONS]
  const own = warehouseRoots(settings)
  if (own.length === 0 || allowed?.startsWith('env:') === true) return []
  return [...own, ...locationsIn(allowed)]
}

/** The location that is the warehouse; none where a REST catalog has a name for it, or an unsupported store. */
function warehouseRoots({ catalogType, warehouse }: CatalogSettings): string[] {
  return catalogType !== 'rest' || /^(\/|file:)/i.test(warehouse) || isStoreLocation(warehouse) ? [warehouse] : []
}

function allowedLocations(property: ReadProperty): string[] {
  return locationsIn(property(ALLOWED_LOCATIONS))
}

function locationsIn(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((location) => location.trim())
}

/** The file of a `sqlite:///relative`, `sqlite:////absolute` (as SQLAlchemy reads them) or `jdbc:sqlite:path` URI. */
function sqlitePath(uri: string | null): string {
  const path = /^(?:sqlite:\/\/\/|jdbc:sqlite:(?:file:)?)([^?]+)$/.exec(uri ?? '')?.[1]
  if (path !== undefined && path !== ':memory:') return path
  throw new IcebergError(
    'INVALID_ARGUMENT',
    'uri of a sql catalog must be sqlite:///path, four slashes for an absolute one, or postgresql://user@host/database',
  )
}
