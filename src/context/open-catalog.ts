import { openCatalog } from '../catalog/open-catalog.ts'
import type { Env } from '../config/env.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type CatalogService, createCatalogService } from '../services/catalog-service.ts'
import { createCatalogSettingsStore } from '../services/catalog-settings-store.ts'
import type { Logger } from '../services/logger.ts'
import { createSettingsStore } from '../storage/settings-store.ts'
import type { State } from './open-state.ts'

export interface CatalogParts {
  readonly home: { readonly warehouse: string; readonly catalogDatabase: string }
  readonly env: Env
  readonly runtime: Runtime
  readonly log: Logger
  readonly state: State
  readonly now: () => Date
}

/** The configured catalog, opened; one that cannot be opened leaves the service up and stands in the log. */
export async function openCatalogService(parts: CatalogParts): Promise<CatalogService> {
  const { env, home, runtime, log, now } = parts
  const { db, inTransaction, audit, events } = parts.state
  const catalog = createCatalogService({
    store: createCatalogSettingsStore({ settings: createSettingsStore(db), inTransaction, audit, events, now }),
    initial: {
      catalogType: 'sql',
      warehouse: home.warehouse,
      catalogName: 'lockhouse',
      uri: `sqlite:///${home.catalogDatabase}`,
      extraProps: {},
    },
    openCatalog: (settings) =>
      openCatalog(settings, {
        openSqlite: (path) => runtime.openSqlite(path, { keepJournalMode: path !== home.catalogDatabase }),
        openPostgres: (address) => runtime.openPostgres(address),
        readSecret: (name) => env[name],
      }),
  })
  await catalog.openStored()
  if (catalog.problem() !== undefined) log.error('the catalog could not be opened', { error: catalog.problem() })
  return catalog
}
