import type { Catalog } from '../../catalog/catalog.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Precondition, requireVersion } from '../../domain/precondition.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import type { CatalogSettingsStore } from './catalog-settings-store.ts'
import { mergeSettings } from './merged-settings.ts'
import { describeSettings, secretsOf } from './shown-settings.ts'
import { type HeldCatalog, OpenCatalogs } from './open-catalogs.ts'

interface OpenOptions {
  readonly create: boolean
  /** True for settings of a request, which must fulfil more than stored ones. */
  readonly isNew: boolean
}

export interface CatalogServiceDeps {
  /** Opens a catalog; creates its file and tables only with `create`. Throws `IcebergError` when it cannot be used. */
  readonly openCatalog: (settings: CatalogSettings, options: OpenOptions) => Promise<Catalog>
  readonly store: CatalogSettingsStore
  /** The configuration for the very first start. */
  readonly initial: CatalogSettings
  /** How long a replaced catalog stays open for calls that started on it; default 5 minutes, in ms. */
  readonly closeAfterMs?: number | undefined
  /** Called when a replaced catalog could not be closed. */
  readonly onCloseError: (error: unknown) => void
}

/** Holds the configured catalog and replaces it without interruption (docs/api.md#catalog-configuration). */
export interface CatalogService {
  /** The open catalog, for work of a few minutes at most. Throws `CATALOG_NOT_CONFIGURED` when there is none. */
  current(): Catalog
  /** The open catalog, for work of any length: it stays open until it is released. Errors as {@link current}. */
  hold(): HeldCatalog
  /** Opens the stored configuration; when that fails, the service stays up and `problem` returns the reason. */
  openStored(): Promise<void>
  /** Why no catalog is open although one is configured. */
  problem(): unknown
  describe(): CatalogConfig
  /** The settings that {@link describe} shows, with secrets; undefined: no catalog is configured. */
  settings(): CatalogSettings | undefined
  /** The setting values that {@link describe} hides, with those of `env:NAME` by name; one list per configuration. */
  secrets(): readonly string[]
  /** Changes with each configuration. */
  version(): number
  /** Applies a change that another process sharing the state made. On failure the old catalog stays and this throws. */
  refresh(): Promise<void>
  /** Opens the new catalog before it replaces the old one; on failure the old one stays. */
  configure(request: SetCatalogConfigRequest, options: ConfigureOptions): Promise<CatalogConfig>
  close(): Promise<void>
}

/** Who changes the configuration, and which revision they have read. */
export interface ConfigureOptions {
  readonly context: RequestContext
  readonly precondition: Precondition | undefined
}

const CLOSE_AFTER_MS = 5 * 60_000

/** A catalog service over the stored settings; call `openStored` before use. */
export function createCatalogService(deps: CatalogServiceDeps): CatalogService {
  let settings: CatalogSettings | undefined
  let revision = 0
  let catalog: Catalog | undefined
  let problem: unknown
  let secrets: readonly string[] = []
  const { closeAfterMs = CLOSE_AFTER_MS, onCloseError: onError } = deps
  const open = new OpenCatalogs({ closeAfterMs, onError })

  function replace(next: { readonly catalog: Catalog; readonly settings: CatalogSettings; readonly revision: number }) {
    if (catalog) open.replaced(catalog)
    ;({ catalog, settings, revision } = next)
    secrets = secretsOf(settings)
    problem = undefined
  }

  function current(): Catalog {
    if (catalog) return catalog
    throw noCatalog(settings)
  }

  return {
    current,
    hold: () => open.hold(current()),
    async openStored() {
      ;({ settings, revision } = await deps.store.load(deps.initial))
      secrets = secretsOf(settings)
      try {
        catalog = await deps.openCatalog(settings, { create: false, isNew: false })
      } catch (error) {
        problem = error
      }
    },
    problem: () => problem,
    describe: () => describeSettings(settings),
    settings: () => settings,
    secrets: () => secrets,
    version: () => revision,
    async refresh() {
      const stored = await deps.store.load(deps.initial)
      if (stored.revision <= revision) return
      replace({ catalog: await deps.openCatalog(stored.settings, { create: false, isNew: false }), ...stored })
    },
    async configure(request, { context, precondition }) {
      requireVersion(precondition, revision)
      const next = mergeSettings(request, settings)
      const expected = revision
      const opened = await deps.openCatalog(next, { create: request.create ?? false, isNew: true })
      await orClose(opened, async () => {
        await opened.ping()
        replace({ catalog: opened, settings: next, revision: await deps.store.save(next, expected, context) })
      })
      return describeSettings(next)
    },
    async close() {
      const last = catalog
      catalog = undefined
      await Promise.all([last?.close(), open.close()])
    },
  }
}

async function orClose(opened: Catalog, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await opened.close()
    throw error
  }
}

function noCatalog(settings: CatalogSettings | undefined): DomainError {
  const reason = settings ? 'the configured catalog could not be opened' : 'no catalog is configured'
  return new DomainError('CATALOG_NOT_CONFIGURED', `${reason}: set one with PUT /api/config`)
}
