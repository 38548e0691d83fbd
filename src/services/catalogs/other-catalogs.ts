import type { Catalog } from '../../catalog/catalog.ts'
import { rootsOfClosed } from '../../catalog/open-catalog.ts'
import type { CatalogSettings } from '../../catalog/settings.ts'
import type { OtherCatalog } from '../../catalog/several/several-catalogs.ts'
import { CATALOG_NAME } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Precondition, requireVersion } from '../../domain/precondition.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import type { SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import { mergeSettings } from './merged-settings.ts'
import { requireNoTableTwice } from './tables-known-twice.ts'
import type { CatalogChange, OtherCatalogsStore, StoredCatalog, StoredCatalogs } from './other-catalogs-store.ts'

/** A configured catalog beside the default one. */
export interface ConfiguredCatalog extends StoredCatalog {
  /** Undefined: it could not be opened. */
  readonly catalog: Catalog | undefined
  /** Why it could not be opened. */
  readonly problem: unknown
}

export interface OtherCatalogsDeps {
  readonly openCatalog: (
    settings: CatalogSettings,
    options: { readonly create: boolean; readonly isNew: boolean },
  ) => Promise<Catalog>
  readonly store: OtherCatalogsStore
  /** All catalogs as one. Throws while the default one is not open: nobody knows which tables it has. */
  readonly all: () => Catalog
  /** Called with a catalog that nobody gets from now on. */
  readonly replaced: (catalog: Catalog) => void
  /** Called when {@link OtherCatalogs.list} has changed. */
  readonly onChange: () => void
  /** How long after a failure a catalog is opened again, in ms. */
  readonly retryMs?: number | undefined
}

/** Who changes a catalog, and which revision of it they have read. */
export interface ChangeOptions {
  readonly context: RequestContext
  readonly precondition: Precondition | undefined
}

/** Most catalogs of a service: each list asks all of them. */
const MAX_CATALOGS = 100
const CONCURRENT_OPENS = 8
const RETRY_MS = 30_000

/** The catalogs beside the default one. One that cannot be opened stays configured, and does not disturb the others. */
export class OtherCatalogs {
  readonly #deps: OtherCatalogsDeps
  #catalogs: readonly ConfiguredCatalog[] = []
  #revision = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(deps: OtherCatalogsDeps) {
    this.#deps = deps
  }

  /** By name. */
  list(): readonly ConfiguredCatalog[] {
    return this.#catalogs
  }

  /** The same for the routing of table names. */
  members(): readonly OtherCatalog[] {
    return this.#catalogs.map(({ settings, catalog }) => ({
      name: settings.catalogName,
      catalog,
      roots: catalog?.roots ?? rootsOfClosed(settings),
    }))
  }

  /** A configured catalog; throws `NOT_FOUND`. */
  find(name: string): ConfiguredCatalog {
    const found = this.#catalogs.find(({ settings }) => settings.catalogName === name)
    if (found !== undefined) return found
    throw new DomainError('NOT_FOUND', `there is no catalog ${JSON.stringify(name)} beside the default one`)
  }

  /** Opens what is stored, and closes what is not stored any more. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
      const stored = await this.#deps.store.load()
      if (stored.revision !== this.#revision) await this.#replace(stored)
    })
  }

  /** Adds a catalog. Throws `CONFLICT` if the name is taken, and as {@link mergeSettings}. */
  add(request: SetCatalogConfigRequest, mainName: string | undefined, context: RequestContext): Promise<void> {
    return this.#inTurn(() => this.#add(request, mainName, context))
  }

  async #add(request: SetCatalogConfigRequest, mainName: string | undefined, context: RequestContext): Promise<void> {
    const name = request.catalog_name
    if (!CATALOG_NAME.test(name)) {
      const message =
        'must begin with a letter or digit, and have only letters, digits, _ and -, at most 63: names of tables begin with it'
      throw fieldRefusal('INVALID_REQUEST', [{ path: 'catalog_name', message }])
    }
    if (RESERVED.has(name.toLowerCase())) {
      const message = 'is a word of the Iceberg REST protocol, whose paths have the name of the catalog in its place'
      throw fieldRefusal('INVALID_REQUEST', [{ path: 'catalog_name', message }])
    }
    const names = [mainName ?? '', ...this.#catalogs.map(({ settings }) => settings.catalogName)]
    // rules for tables are compared in any case
    if (names.some((taken) => taken.toLowerCase() === name.toLowerCase()))
      throw new DomainError('CONFLICT', `there is a catalog ${name} already`)
    if (this.#catalogs.length >= MAX_CATALOGS) {
      throw new DomainError(
        'UNPROCESSABLE',
        `there are ${MAX_CATALOGS} catalogs beside the default one, the most that are possible`,
      )
    }
    const settings = mergeSettings(request, undefined)
    await this.#save({ settings, revision: 1 }, request.create ?? false, { name, kind: 'add', context })
  }

  /** Changes a catalog; its name stays. Throws `NOT_FOUND`, `PRECONDITION_FAILED`, and as {@link mergeSettings}. */
  change(name: string, request: SetCatalogConfigRequest, options: ChangeOptions): Promise<void> {
    return this.#inTurn(() => this.#change(name, request, options))
  }

  async #change(
    name: string,
    request: SetCatalogConfigRequest,
    { context, precondition }: ChangeOptions,
  ): Promise<void> {
    const before = this.find(name)
    requireVersion(precondition, before.revision)
    if (request.catalog_name !== name) {
      const message = `must be ${name}: tables are named with it; remove the catalog and add another one instead`
      throw fieldRefusal('INVALID_REQUEST', [{ path: 'catalog_name', message }])
    }
    const settings = mergeSettings(request, before.settings)
    await this.#save({ settings, revision: before.revision + 1 }, request.create ?? false, {
      name,
      kind: 'change',
      context,
    })
  }

  /** Removes a catalog from the service; its tables stay as they are. Throws `NOT_FOUND`, `PRECONDITION_FAILED`. */
  remove(name: string, { context, precondition }: ChangeOptions): Promise<void> {
    return this.#inTurn(async () => {
      requireVersion(precondition, this.find(name).revision)
      const catalogs = this.#catalogs.filter(({ settings }) => settings.catalogName !== name)
      const next = { catalogs: catalogs.map(storedPart), revision: this.#revision }
      await this.#replace(await this.#deps.store.save(next, { name, kind: 'remove', context }))
    })
  }

  close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    return this.#inTurn(async () => {
      const open = this.#catalogs.flatMap(({ catalog }) => catalog ?? [])
      this.#catalogs = []
      await Promise.all(open.map((catalog) => catalog.close()))
    })
  }

  /** One change at a time: two would open the same catalog twice, and one of the two would stay open. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return mine
  }

  /** Opens the new settings before they are stored; on failure everything stays. */
  async #save(next: StoredCatalog, create: boolean, change: CatalogChange): Promise<void> {
    const opened = await this.#deps.openCatalog(next.settings, { create, isNew: true })
    try {
      await opened.ping()
      await requireNoTableTwice(opened, this.#deps.all(), change.name)
      const others = this.#catalogs.filter(({ settings }) => settings.catalogName !== change.name).map(storedPart)
      const catalogs = [...others, next].toSorted((a, b) => (a.settings.catalogName < b.settings.catalogName ? -1 : 1))
      const stored = await this.#deps.store.save({ catalogs, revision: this.#revision }, change)
      await this.#replace(stored, new Map([[change.name, opened]]))
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  /** Takes over a stored list; `opened` are catalogs that are open already. */
  async #replace(
    { catalogs, revision }: StoredCatalogs,
    opened: ReadonlyMap<string, Catalog> = new Map(),
  ): Promise<void> {
    const before = new Map(this.#catalogs.map((one) => [one.settings.catalogName, one]))
    this.#catalogs = await mapBounded(catalogs, CONCURRENT_OPENS, async (stored): Promise<ConfiguredCatalog> => {
      const name = stored.settings.catalogName
      const known = before.get(name)
      if (known?.catalog !== undefined && isSame(known, stored)) return known
      const ready = opened.get(name)
      return ready === undefined ? this.#open(stored) : { ...stored, catalog: ready, problem: undefined }
    })
    this.#revision = revision
    const kept = new Set(this.#catalogs.map(({ catalog }) => catalog))
    this.#deps.onChange()
    this.#retryLater()
    for (const { catalog } of before.values())
      if (catalog !== undefined && !kept.has(catalog)) this.#deps.replaced(catalog)
  }

  /** A catalog that could not be opened may be there later, such as a file on another machine. */
  #retryLater(): void {
    clearTimeout(this.#retry)
    if (this.#isClosed || this.#catalogs.every(({ catalog }) => catalog !== undefined)) return
    const { retryMs = RETRY_MS } = this.#deps
    this.#retry = setTimeout(() => void this.#inTurn(() => this.#openClosed()), retryMs)
    this.#retry.unref()
  }

  /** Everything that is known of the open catalogs stays, unless one more is open. */
  async #openClosed(): Promise<void> {
    const closed = this.#catalogs.filter(({ catalog }) => catalog === undefined)
    const tried = await mapBounded(closed, CONCURRENT_OPENS, (stored) => this.#open(storedPart(stored)))
    const opened = tried.flatMap(({ settings, catalog }) =>
      catalog === undefined ? [] : [[settings.catalogName, catalog] as const],
    )
    if (opened.length === 0) return this.#retryLater()
    await this.#replace({ catalogs: this.#catalogs.map(storedPart), revision: this.#revision }, new Map(opened))
  }

  async #open(stored: StoredCatalog): Promise<ConfiguredCatalog> {
    try {
      const catalog = await this.#deps.openCatalog(stored.settings, { create: false, isNew: false })
      return { ...stored, catalog, problem: undefined }
    } catch (problem) {
      return { ...stored, catalog: undefined, problem }
    }
  }
}

/** A name may have been removed and given to another catalog, whose revisions begin at 1 again. */
function isSame(a: StoredCatalog, b: StoredCatalog): boolean {
  return a.revision === b.revision && JSON.stringify(a.settings) === JSON.stringify(b.settings)
}

/** First segments of paths below `/iceberg/v1`. */
const RESERVED = new Set(['config', 'oauth', 'namespaces', 'tables', 'transactions', 'views'])

function storedPart({ settings, revision }: ConfiguredCatalog): StoredCatalog {
  return { settings, revision }
}
