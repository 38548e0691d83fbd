import type { CatalogSettings } from '../../catalog/settings.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { createSettingsStore, type SettingsStore } from '../../storage/stores/settings-store.ts'
import type { CatalogSettingsStoreDeps } from './catalog-settings-store.ts'

const KEY = 'other_catalogs'

/** The settings of one catalog beside the default one. */
export interface StoredCatalog {
  readonly settings: CatalogSettings
  /** Starts at 1; each change increases it by one. */
  readonly revision: number
}

/** All of them, and the revision of the list, which each change increases by one; 0: there was none yet. */
export interface StoredCatalogs {
  readonly catalogs: readonly StoredCatalog[]
  readonly revision: number
}

/** What is done to one catalog, for the audit log and the event log. */
export interface CatalogChange {
  readonly name: string
  readonly kind: 'add' | 'change' | 'remove'
  readonly context: RequestContext
}

/** Where the catalogs beside the default one are stored. */
export interface OtherCatalogsStore {
  load(): Promise<StoredCatalogs>
  /** Replaces the list that has this revision. Throws `CONFLICT` when another caller changes it at the same time. */
  save(next: StoredCatalogs, change: CatalogChange): Promise<StoredCatalogs>
}

/** The catalogs beside the default one as one setting of the state database. */
export function createOtherCatalogsStore(deps: CatalogSettingsStoreDeps): OtherCatalogsStore {
  const { settings, inTransaction, audit, events, now } = deps
  const set = async (store: SettingsStore, { catalogs, revision }: StoredCatalogs): Promise<number> => {
    const value = { catalogs: catalogs.map((one) => ({ settings: { ...one.settings }, revision: one.revision })) }
    const next = await store.set(KEY, value, { expectedRevision: revision, now: now() })
    if (next !== undefined) return next
    throw new DomainError('CONFLICT', 'the catalogs were changed at the same time')
  }
  return {
    async load() {
      const stored = await settings.get(KEY)
      if (stored === undefined) return { catalogs: [], revision: 0 }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `save` and by nothing else
      const { catalogs } = stored.value as unknown as Pick<StoredCatalogs, 'catalogs'>
      return { catalogs, revision: stored.revision }
    },
    save: (next, { name, kind, context }) =>
      inTransaction(async (tx) => {
        const revision = await set(createSettingsStore(tx), next)
        const of = next.catalogs.find(({ settings: { catalogName } }) => catalogName === name)
        const details = {
          ...(of && { catalog_type: of.settings.catalogType, properties: Object.keys(of.settings.extraProps).sort() }),
          revision: of?.revision ?? null,
        }
        await audit.record(tx, {
          ...context,
          action: `catalog.${kind}`,
          objectType: 'catalog',
          objectId: name,
          details,
        })
        const data = { catalog_name: name, change: kind }
        await events.append(tx, { type: 'config.changed', objectType: 'catalog', objectId: name, data })
        return { ...next, revision }
      }),
  }
}
