import type { Catalog } from '../catalog/catalog.ts'
import { openCatalog, type OpenCatalogDeps, openCatalogToCheck } from '../catalog/open-catalog.ts'
import { foreignPostgres } from '../services/catalogs/foreign-postgres.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { secretReader } from '../config/secret-reader.ts'
import { admitCatalogFile } from '../services/catalogs/catalog-file.ts'
import { type CatalogService, createCatalogService } from '../services/catalogs/catalog-service.ts'
import { type ConnectionTests, createConnectionTests } from '../services/catalogs/connection-test/connection-tests.ts'
import type { TestLimits } from '../services/catalogs/connection-test/run-checks.ts'
import { createCatalogSettingsStore } from '../services/catalogs/catalog-settings-store.ts'
import { createOtherCatalogsStore } from '../services/catalogs/other-catalogs-store.ts'
import { admitNewSettings } from '../services/catalogs/new-settings.ts'
import type { Logger } from '../services/logger.ts'
import { openPostgres } from '../storage/dialects/open-postgres.ts'
import { sqliteDialect } from '../storage/dialects/sqlite.ts'
import { createSettingsStore } from '../storage/stores/settings-store.ts'
import type { State } from './open-state.ts'

export interface CatalogParts {
  readonly config: Pick<Config, 'configEnvAllow' | 'databaseUrl'>
  readonly home: {
    readonly isNew: boolean
    readonly warehouse: string
    readonly catalogDatabase: string
    readonly ownDatabases: readonly string[]
  }
  readonly env: Env
  readonly log: Logger
  readonly state: State
  readonly now: () => Date
  /** Wraps each catalog that is opened. */
  readonly observe: (catalog: Catalog) => Catalog
  /** Replaces settings in tests. */
  readonly overrides?:
    | {
        readonly catalogCloseAfterMs?: number
        readonly catalogRetryMs?: number
        readonly connectionTestLimits?: TestLimits
      }
    | undefined
}

/** The configured catalog, and tests of connections. */
export interface OpenedCatalogs {
  readonly catalog: CatalogService
  readonly connectionTests: ConnectionTests
}

/** Opens the configured catalog. The service also starts when it cannot be opened; the problem is logged. */
export async function openCatalogService(parts: CatalogParts): Promise<OpenedCatalogs> {
  const { config, env, home, log, now, overrides } = parts
  const { db, inTransaction, audit, events } = parts.state
  const readSecret = secretReader(env, config.configEnvAllow)
  const depsFor = openingDeps(parts, readSecret)
  const storeDeps = { settings: createSettingsStore(db), inTransaction, audit, events, now }
  const catalog = createCatalogService({
    closeAfterMs: overrides?.catalogCloseAfterMs,
    retryMs: overrides?.catalogRetryMs,
    onCloseError: (error) => log.warn('a replaced catalog could not be closed', { error }),
    onUnreachable: (name, error) => log.warn('a catalog does not respond', { catalog: name, error }),
    store: createCatalogSettingsStore(storeDeps),
    otherStore: createOtherCatalogsStore(storeDeps),
    initial: {
      catalogType: 'sql',
      warehouse: home.warehouse,
      catalogName: 'lockhouse',
      uri: `sqlite:///${home.catalogDatabase}`,
      extraProps: {},
    },
    openCatalog: async (settings, { create, isNew }) => {
      if (isNew) await admitNewSettings(settings, { create, readSecret })
      return parts.observe(await openCatalog(settings, depsFor({ create, createsOwn: true })))
    },
  })
  const connectionTests = createConnectionTests({
    catalog,
    openToCheck: async (settings, { isNew, ...limits }) => {
      if (isNew) await admitNewSettings(settings, { create: false, readSecret })
      return openCatalogToCheck(settings, depsFor({ create: false, createsOwn: false }), limits)
    },
    readSecret,
    inTransaction,
    audit,
    log,
    limits: overrides?.connectionTestLimits,
  })
  await catalog.openStored()
  if (home.isNew && catalog.problem() === undefined) {
    // the first start creates the embedded catalog; later starts only open it
    await catalog
      .current()
      .ping()
      .catch((error: unknown) => log.error('the catalog does not respond', { error }))
  }
  if (catalog.problem() !== undefined) log.error('the catalog could not be opened', { error: catalog.problem() })
  return { catalog, connectionTests }
}

interface Creation {
  /** Whether the SQLite file of a catalog, or the tables in it, may be created. */
  readonly create: boolean
  /** Whether those of the embedded catalog may be created. */
  readonly createsOwn: boolean
}

/** How catalogs are opened; the databases of the service itself are refused. */
function openingDeps(
  { config, home, state }: CatalogParts,
  readSecret: OpenCatalogDeps['readSecret'],
): (creation: Creation) => OpenCatalogDeps {
  const requireNotState = foreignPostgres({ databaseUrl: config.databaseUrl, db: state.db })
  return ({ create, createsOwn }) => ({
    async openSqlite(path) {
      const isOurs = path === home.catalogDatabase
      const file = await admitCatalogFile(path, { own: home.ownDatabases, create: create || (isOurs && createsOwn) })
      return sqliteDialect(file, { keepJournalMode: !isOurs })
    },
    async openPostgres(address) {
      await requireNotState(address)
      return openPostgres(address)
    },
    readSecret,
  })
}
