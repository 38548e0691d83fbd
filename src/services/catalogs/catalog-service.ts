import type { Catalog } from '../../catalog/catalog.ts'
import { createSeveralCatalogs } from '../../catalog/several/several-catalogs.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Precondition, requireVersion } from '../../domain/precondition.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import type { CatalogSettingsStore } from './catalog-settings-store.ts'
import { mergeSettings } from './merged-settings.ts'
import { requireNoTableTwice } from './tables-known-twice.ts'
import { describeSettings, secretsOf } from './shown-settings.ts'
import { type HeldCatalog, OpenCatalogs } from './open-catalogs.ts'
import { type ConfiguredCatalog, OtherCatalogs, type ChangeOptions } from './other-catalogs.ts'
import type { OtherCatalogsStore } from './other-catalogs-store.ts'

interface OpenOptions {
  readonly create: boolean
  /** True for settings of a request, which must fulfil more than stored ones. */
  readonly isNew: boolean
}

export interface CatalogServiceDeps {
  /** Opens a catalog; creates its file and tables only with `create`. Throws `IcebergError` when it cannot be used. */
  readonly openCatalog: (settings: CatalogSettings, options: OpenOptions) => Promise<Catalog>
  readonly store: CatalogSettingsStore
  readonly otherStore: OtherCatalogsStore
  /** The configuration for the very first start. */
  readonly initial: CatalogSettings
  /** How long a replaced catalog stays open for calls that started on it; default 5 minutes, in ms. */
  readonly closeAfterMs?: number | undefined
  /** How long after a failure another catalog than the default one is opened again; default 30 s, in ms. */
  readonly retryMs?: number | undefined
  /** Called when a replaced catalog could not be closed. */
  readonly onCloseError: (error: unknown) => void
  /** Called when a catalog beside the default one did not respond to a list, which is then without its tables. */
  readonly onUnreachable: (name: string, error: unknown) => void
}

/**
 * Holds the configured catalogs and replaces them without interruption (docs/api.md#catalog-configuration). Settings, problems and the
 * version are those of the default catalog; the others are in `others`.
 */
export interface CatalogService {
  /** All open catalogs as one, for work of a few minutes at most. Throws `CATALOG_NOT_CONFIGURED` when there is none. */
  current(): Catalog
  /** The same for work of any length: the catalogs stay open until they are released. Errors as {@link current}. */
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
  /** The catalogs beside the default one, by name. */
  others(): readonly ConfiguredCatalog[]
  /** Adds a catalog; errors as {@link OtherCatalogs.add}. */
  add(request: SetCatalogConfigRequest, context: RequestContext): Promise<void>
  /** Changes another catalog than the default one; errors as {@link OtherCatalogs.change}. */
  change(name: string, request: SetCatalogConfigRequest, options: ChangeOptions): Promise<void>
  /** Removes another catalog than the default one; errors as {@link OtherCatalogs.remove}. */
  remove(name: string, options: ChangeOptions): Promise<void>
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
  return new Catalogs(deps)
}

interface Main {
  readonly catalog: Catalog
  readonly settings: CatalogSettings
  readonly revision: number
}

class Catalogs implements CatalogService {
  readonly #deps: CatalogServiceDeps
  readonly #open: OpenCatalogs
  readonly #others: OtherCatalogs
  #main: Catalog | undefined
  #settings: CatalogSettings | undefined
  #revision = 0
  #problem: unknown
  #secrets: readonly string[] = []
  /** All of them as one, until one is replaced. */
  #all: Catalog | undefined

  constructor(deps: CatalogServiceDeps) {
    this.#deps = deps
    const { closeAfterMs = CLOSE_AFTER_MS, onCloseError: onError } = deps
    this.#open = new OpenCatalogs({ closeAfterMs, onError })
    this.#others = new OtherCatalogs({
      openCatalog: deps.openCatalog,
      store: deps.otherStore,
      all: () => this.current(),
      retryMs: deps.retryMs,
      replaced: (catalog) => this.#open.replaced(catalog),
      onChange: () => this.#changed(),
    })
  }

  current(): Catalog {
    if (this.#main === undefined) throw noCatalog(this.#settings)
    return (this.#all ??= this.#withOthers(this.#main))
  }

  /** A default catalog and the others as one. */
  #withOthers(main: Catalog): Catalog {
    return createSeveralCatalogs({ main, others: this.#others.members(), onUnreachable: this.#deps.onUnreachable })
  }

  hold(): HeldCatalog {
    const catalog = this.current()
    const members = [this.#main, ...this.#others.list().map((one) => one.catalog)]
    const held = members.flatMap((member) => (member === undefined ? [] : [this.#open.hold(member)]))
    return { catalog, release: () => held.forEach(({ release }) => release()) }
  }

  async openStored(): Promise<void> {
    const stored = await this.#deps.store.load(this.#deps.initial)
    this.#settings = stored.settings
    this.#revision = stored.revision
    const [opened] = await Promise.allSettled([
      this.#deps.openCatalog(stored.settings, { create: false, isNew: false }),
      this.#others.refresh(),
    ])
    if (opened.status === 'fulfilled') this.#main = opened.value
    else this.#problem = opened.reason
    this.#changed()
  }

  problem(): unknown {
    return this.#problem
  }

  describe(): CatalogConfig {
    return describeSettings(this.#settings)
  }

  settings(): CatalogSettings | undefined {
    return this.#settings
  }

  secrets(): readonly string[] {
    return this.#secrets
  }

  version(): number {
    return this.#revision
  }

  async refresh(): Promise<void> {
    await this.#others.refresh()
    const stored = await this.#deps.store.load(this.#deps.initial)
    if (stored.revision <= this.#revision) return
    this.#replaceMain({
      catalog: await this.#deps.openCatalog(stored.settings, { create: false, isNew: false }),
      ...stored,
    })
  }

  async configure(
    request: SetCatalogConfigRequest,
    { context, precondition }: ConfigureOptions,
  ): Promise<CatalogConfig> {
    requireVersion(precondition, this.#revision)
    if (this.#others.list().some(({ settings }) => settings.catalogName === request.catalog_name)) {
      throw new DomainError('CONFLICT', `there is a catalog ${request.catalog_name} beside the default one already`)
    }
    const next = mergeSettings(request, this.#settings)
    const expected = this.#revision
    const opened = await this.#deps.openCatalog(next, { create: request.create ?? false, isNew: true })
    await orClose(opened, async () => {
      await opened.ping()
      await requireNoTableTwice(opened, this.#withOthers(opened), undefined)
      const revision = await this.#deps.store.save(next, expected, context)
      this.#replaceMain({ catalog: opened, settings: next, revision })
    })
    return describeSettings(next)
  }

  others(): readonly ConfiguredCatalog[] {
    return this.#others.list()
  }

  add(request: SetCatalogConfigRequest, context: RequestContext): Promise<void> {
    return this.#others.add(request, this.#settings?.catalogName, context)
  }

  change(name: string, request: SetCatalogConfigRequest, options: ChangeOptions): Promise<void> {
    return this.#others.change(name, request, options)
  }

  remove(name: string, options: ChangeOptions): Promise<void> {
    return this.#others.remove(name, options)
  }

  async close(): Promise<void> {
    const last = this.#main
    this.#main = undefined
    await Promise.all([last?.close(), this.#others.close(), this.#open.close()])
  }

  #replaceMain({ catalog, settings, revision }: Main): void {
    if (this.#main !== undefined) this.#open.replaced(this.#main)
    this.#main = catalog
    this.#settings = settings
    this.#revision = revision
    this.#problem = undefined
    this.#changed()
  }

  #changed(): void {
    this.#all = undefined
    const all = [this.#settings, ...this.#others.list().map(({ settings }) => settings)]
    this.#secrets = all.flatMap((settings) => (settings === undefined ? [] : secretsOf(settings)))
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
