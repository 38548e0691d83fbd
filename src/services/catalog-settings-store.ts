import type { CatalogSettings } from '../catalog/catalog-settings.ts'
import { DomainError } from '../domain/errors.ts'
import type { SettingsStore } from '../storage/settings-store.ts'

const KEY = 'catalog'

/** Where the catalog configuration is kept. */
export interface CatalogSettingsStore {
  /** The stored settings; the very first time, `initial` is stored and returned. */
  load(initial: CatalogSettings): Promise<CatalogSettings>
  /** Throws `CONFLICT` when somebody else changes them at the same time. */
  save(settings: CatalogSettings): Promise<void>
}

/** The catalog configuration as one setting of the state database. */
export function createCatalogSettingsStore(settings: SettingsStore, now: () => Date): CatalogSettingsStore {
  const set = async (value: CatalogSettings): Promise<void> => {
    const revision = (await settings.get(KEY))?.revision ?? 0
    const stored = await settings.set(KEY, { ...value }, { expectedRevision: revision, now: now() })
    if (stored === undefined) throw new DomainError('CONFLICT', 'the configuration was changed at the same time')
  }
  return {
    async load(initial) {
      const stored = await settings.get(KEY)
      if (stored) return stored.value as unknown as CatalogSettings
      await set(initial)
      return initial
    },
    save: set,
  }
}
