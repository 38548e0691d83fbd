import { Limiter } from '../../api/limiter.ts'
import { queryClient } from '../../api/query-client.ts'
import type { TableHealth } from '../../api/types.ts'
import { healthQuery } from './api.ts'

/** What a list knows of a table's health. */
export interface KnownHealth {
  readonly health?: TableHealth
  readonly error?: unknown
}

const AT_ONCE = 4
/** Rows that only fly by while somebody scrolls are not asked for. */
const SETTLE_MS = 120
const FRESH_MS = 60_000
const NOTHING: KnownHealth = {}

interface Watched {
  watchers: number
  stop: AbortController | undefined
}

/**
 * Health of tables for lists: asked for while somebody looks, few at a time, and given up when nobody does any more.
 * What was read stays, so that a list can be sorted by it.
 */
class HealthStore {
  readonly #known = new Map<string, KnownHealth>()
  readonly #watched = new Map<string, Watched>()
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #allListeners = new Set<() => void>()
  readonly #limiter = new Limiter(AT_ONCE)
  #version = 0

  /** What is known of a table; the same object until something changes. */
  get(table: string): KnownHealth {
    return this.#known.get(table) ?? NOTHING
  }

  /** Grows with everything that becomes known. */
  get version(): number {
    return this.#version
  }

  /** Listens to one table, and has it asked for as long as anybody listens. */
  watch(table: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(table) ?? new Set()
    this.#listeners.set(table, listeners.add(listener))
    const release = this.#want(table, SETTLE_MS)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(table)
      release()
    }
  }

  /** Listens to all that becomes known; asks for nothing. */
  watchAll(listener: () => void): () => void {
    this.#allListeners.add(listener)
    return () => this.#allListeners.delete(listener)
  }

  /** Has these tables asked for until it is called off. */
  wantAll(tables: readonly string[]): () => void {
    const releases = tables.map((table) => this.#want(table, 0))
    return () => {
      for (const release of releases) release()
    }
  }

  #want(table: string, settleMs: number): () => void {
    const watched = this.#watched.get(table) ?? { watchers: 0, stop: undefined }
    this.#watched.set(table, watched)
    watched.watchers += 1
    if (watched.stop === undefined) {
      watched.stop = new AbortController()
      void this.#load(table, settleMs, watched.stop.signal)
    }
    return () => {
      watched.watchers -= 1
      if (watched.watchers > 0) return
      watched.stop?.abort()
      this.#watched.delete(table)
    }
  }

  async #load(table: string, settleMs: number, signal: AbortSignal): Promise<void> {
    if (settleMs > 0) await new Promise((resolve) => setTimeout(resolve, settleMs))
    if (signal.aborted) return
    try {
      const query = { ...healthQuery(table), staleTime: FRESH_MS }
      const health = await this.#limiter.run(() => queryClient.fetchQuery(query), signal)
      this.#tell(table, { health })
    } catch (error) {
      if (!signal.aborted) this.#tell(table, { error })
    }
  }

  #tell(table: string, known: KnownHealth): void {
    this.#known.set(table, known)
    this.#version += 1
    for (const listener of this.#listeners.get(table) ?? []) listener()
    for (const listener of this.#allListeners) listener()
  }
}

/** The one store of the page. */
export const healthStore = new HealthStore()
