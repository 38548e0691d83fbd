import type { Catalog } from '../catalog/catalog.ts'
import { openCatalog } from '../catalog/open-catalog.ts'
import { foreignPostgres } from '../services/catalogs/foreign-postgres.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { secretReader } from '../config/secret-reader.ts'
import { admitCatalogFile } from '../services/catalogs/catalog-file.ts'
import { type CatalogService, createCatalogService } from '../services/catalogs/catalog-service.ts'
import { createCatalogSettingsStore } from '../services/catalogs/catalog-settings-store.ts'
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
  readonly overrides?: { readonly catalogCloseAfterMs?: number } | undefined
}

/** Opens the configured catalog. The service also starts when it cannot be opened; the problem is logged. */
export async function openCatalogService(parts: CatalogParts): Promise<CatalogService> {
  const { config, env, home, log, now } = parts
  const { db, inTransaction, audit, events } = parts.state
  const readSecret = secretReader(env, config.configEnvAllow)
  const requireNotState = foreignPostgres({ databaseUrl: config.databaseUrl, db })
  const catalog = createCatalogService({
    closeAfterMs: parts.overrides?.catalogCloseAfterMs,
    onCloseError: (error) => log.warn('a replaced catalog could not be closed', { error }),
    store: createCatalogSettingsStore({ settings: createSettingsStore(db), inTransaction, audit, events, now }),
    initial: {
      catalogType: 'sql',
      warehouse: home.warehouse,
      catalogName: 'lockhouse',
      uri: `sqlite:///${home.catalogDatabase}`,
      extraProps: {},
    },
    openCatalog: async (settings, { create, isNew }) => {
      if (isNew) await admitNewSettings(settings, { create, readSecret })
      const opened = await openCatalog(settings, {
        async openSqlite(path) {
          const isOurs = path === home.catalogDatabase
          const file = await admitCatalogFile(path, { own: home.ownDatabases, create: create || isOurs })
          return sqliteDialect(file, { keepJournalMode: !isOurs })
        },
        async openPostgres(address) {
          await requireNotState(address)
          return openPostgres(address)
        },
        readSecret,
      })
      return parts.observe(opened)
    },
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
  return catalog
}
