import type { Catalog } from '../../catalog/catalog.ts'

/** A catalog that stays open until it is released. */
export interface HeldCatalog {
  readonly catalog: Catalog
  /** Calling it again does nothing. */
  release(): void
}

export interface OpenCatalogsOptions {
  /** How long a replaced catalog stays open for calls that started on it without holding it, in ms. */
  readonly closeAfterMs: number
  readonly onError: (error: unknown) => void
}

/** The open catalogs: a replaced one is closed when nothing holds it any more and a grace period has passed. */
export class OpenCatalogs {
  readonly #options: OpenCatalogsOptions
  readonly #holders = new Map<Catalog, number>()
  /** Replaced catalogs with the timer of their grace period; undefined once it has passed. */
  readonly #replaced = new Map<Catalog, ReturnType<typeof setTimeout> | undefined>()

  constructor(options: OpenCatalogsOptions) {
    this.#options = options
  }

  /** Keeps a catalog open until the hold is released. */
  hold(catalog: Catalog): HeldCatalog {
    this.#count(catalog, 1)
    let isHeld = true
    const release = (): void => {
      if (!isHeld) return
      isHeld = false
      this.#count(catalog, -1)
      this.#closeUnused(catalog)
    }
    return { catalog, release }
  }

  /** Marks a catalog as replaced: no caller gets it from now on. */
  replaced(catalog: Catalog): void {
    const timer = setTimeout(() => {
      this.#replaced.set(catalog, undefined)
      this.#closeUnused(catalog)
    }, this.#options.closeAfterMs)
    timer.unref()
    this.#replaced.set(catalog, timer)
  }

  /** Closes the replaced catalogs that are still open, held or not. */
  async close(): Promise<void> {
    const open = [...this.#replaced.keys()]
    for (const timer of this.#replaced.values()) clearTimeout(timer)
    this.#replaced.clear()
    await Promise.all(open.map((catalog) => catalog.close()))
  }

  #count(catalog: Catalog, change: 1 | -1): void {
    const holders = (this.#holders.get(catalog) ?? 0) + change
    if (holders === 0) this.#holders.delete(catalog)
    else this.#holders.set(catalog, holders)
  }

  #closeUnused(catalog: Catalog): void {
    const isDue = this.#replaced.has(catalog) && this.#replaced.get(catalog) === undefined
    if (!isDue || this.#holders.has(catalog)) return
    this.#replaced.delete(catalog)
    catalog.close().catch(this.#options.onError)
  }
}
