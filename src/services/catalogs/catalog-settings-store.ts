import type { CatalogSettings } from '../../catalog/settings.ts'
import { DomainError } from '../../domain/errors.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { createSettingsStore, type SettingsStore } from '../../storage/stores/settings-store.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { EventWriter } from '../events/event-log.ts'

const KEY = 'catalog'

/** The catalog configuration and its revision, which each change increases by one. */
export interface StoredCatalogSettings {
  readonly settings: CatalogSettings
  readonly revision: number
}

/** Where the catalog configuration is stored. */
export interface CatalogSettingsStore {
  /** The stored settings; the very first time, stores and returns `initial`. */
  load(initial: CatalogSettings): Promise<StoredCatalogSettings>
  /**
   * Replaces the settings that have `expectedRevision` and returns the new revision. Throws `CONFLICT` when another
   * caller changes the settings at the same time.
   */
  save(settings: CatalogSettings, expectedRevision: number, context: RequestContext): Promise<number>
}

export interface CatalogSettingsStoreDeps {
  readonly settings: SettingsStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly now: () => Date
}

/** The catalog configuration as one setting of the state database. */
export function createCatalogSettingsStore(deps: CatalogSettingsStoreDeps): CatalogSettingsStore {
  const { settings, inTransaction, audit, events, now } = deps
  const set = async (store: SettingsStore, value: CatalogSettings, expectedRevision: number): Promise<number> => {
    const revision = await store.set(KEY, { ...value }, { expectedRevision, now: now() })
    if (revision !== undefined) return revision
    throw new DomainError('CONFLICT', 'the configuration was changed at the same time')
  }
  return {
    async load(initial) {
      const stored = await settings.get(KEY)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `save` and by nothing else
      if (stored) return { settings: stored.value as unknown as CatalogSettings, revision: stored.revision }
      return { settings: initial, revision: await set(settings, initial, 0) }
    },
    save: (value, expectedRevision, context) =>
      inTransaction(async (tx) => {
        const revision = await set(createSettingsStore(tx), value, expectedRevision)
        const { catalogType, catalogName } = value
        const details = {
          catalog_type: catalogType,
          catalog_name: catalogName,
          properties: Object.keys(value.extraProps).sort(),
          revision,
        }
        await audit.record(tx, { ...context, action: 'config.set', objectType: 'config', objectId: KEY, details })
        const data = { catalog_type: catalogType, catalog_name: catalogName, revision }
        await events.append(tx, { type: 'config.changed', objectType: 'config', objectId: KEY, data })
        return revision
      }),
  }
}
