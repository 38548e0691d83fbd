import { openCatalog } from '../catalog/open-catalog.ts'
import { foreignPostgres } from './foreign-postgres.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { secretReader } from '../config/secret-reader.ts'
import { admitCatalogFile } from '../runtime/catalog-file.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type CatalogService, createCatalogService } from '../services/catalog-service.ts'
import { createCatalogSettingsStore } from '../services/catalog-settings-store.ts'
import type { Logger } from '../services/logger.ts'
import { createSettingsStore } from '../storage/settings-store.ts'
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
  readonly runtime: Runtime
  readonly log: Logger
  readonly state: State
  readonly now: () => Date
}

/** The configured catalog, opened; one that cannot be opened leaves the service up and stands in the log. */
export async function openCatalogService(parts: CatalogParts): Promise<CatalogService> {
  const { config, env, home, runtime, log, now } = parts
  const { db, inTransaction, audit, events } = parts.state
  const requireNotState = foreignPostgres({ runtime, databaseUrl: config.databaseUrl, db })
  const catalog = createCatalogService({
    store: createCatalogSettingsStore({ settings: createSettingsStore(db), inTransaction, audit, events, now }),
    initial: {
      catalogType: 'sql',
      warehouse: home.warehouse,
      catalogName: 'lockhouse',
      uri: `sqlite:///${home.catalogDatabase}`,
      extraProps: {},
    },
    openCatalog: (settings, { create }) =>
      openCatalog(settings, {
        async openSqlite(path) {
          const isOurs = path === home.catalogDatabase
          const file = await admitCatalogFile(path, { own: home.ownDatabases, create: create || isOurs })
          return runtime.openSqlite(file, { keepJournalMode: !isOurs })
        },
        async openPostgres(address) {
          await requireNotState(address)
          return runtime.openPostgres(address)
        },
        readSecret: secretReader(env, config.configEnvAllow),
      }),
  })
  await catalog.openStored()
  if (home.isNew && catalog.problem() === undefined) {
    // the first start makes the embedded catalog; later starts only open it
    await catalog
      .current()
      .ping()
      .catch((error: unknown) => log.error('the catalog does not answer', { error }))
  }
  if (catalog.problem() !== undefined) log.error('the catalog could not be opened', { error: catalog.problem() })
  return catalog
}
