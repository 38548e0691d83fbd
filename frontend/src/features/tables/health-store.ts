import { Limiter } from '../../api/limiter.ts'
import { queryClient } from '../../api/query-client.ts'
import type { TableHealth } from '../../api/types.ts'
import { healthQuery } from './api.ts'

/** The health of a table in a list. */
export interface KnownHealth {
  readonly health?: TableHealth
  readonly error?: unknown
}

const AT_ONCE = 4
/** While rows appear faster than this, the user is scrolling, and no health is requested. */
const SETTLE_MS = 100
/** The health of a row that stays visible is requested after this time. */
const PATIENCE_MS = 500
const FRESH_MS = 60_000
const NOTHING: KnownHealth = {}

interface Watched {
  watchers: number
  /** Cancels the request; undefined until one is started. */
  stop?: AbortController
}

/**
 * Health of tables for lists: requested while a table is subscribed, a few at a time, and cancelled when it no longer
 * is. Results are kept, so that a list can be sorted by them.
 */
class HealthStore {
  readonly #known = new Map<string, KnownHealth>()
  readonly #watched = new Map<string, Watched>()
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #allListeners = new Set<() => void>()
  readonly #limiter = new Limiter(AT_ONCE)
  /** When each table came into view that waits for scrolling to stop; oldest first. */
  readonly #settling = new Map<string, number>()
  #lastCameAt = 0
  #settleTimer: ReturnType<typeof setTimeout> | undefined
  #version = 0

  /** The known health of a table; the same object until it changes. */
  get(table: string): KnownHealth {
    return this.#known.get(table) ?? NOTHING
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version
  }

  /** Subscribes to one table; its health is requested while it has subscribers. */
  watch(table: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(table) ?? new Set()
    this.#listeners.set(table, listeners.add(listener))
    const release = this.#want(table, () => this.#settle(table))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(table)
      release()
    }
  }

  /** Subscribes to all changes, without requesting anything. */
  watchAll(listener: () => void): () => void {
    this.#allListeners.add(listener)
    return () => this.#allListeners.delete(listener)
  }

  /** Requests the health of these tables until the returned function is called. */
  wantAll(tables: readonly string[]): () => void {
    const releases = tables.map((table) => this.#want(table, (watched) => this.#start(table, watched)))
    return () => {
      for (const release of releases) release()
    }
  }

  #want(table: string, begin: (watched: Watched) => void): () => void {
    const watched = this.#watched.get(table) ?? { watchers: 0 }
    this.#watched.set(table, watched)
    watched.watchers += 1
    if (watched.stop === undefined) begin(watched)
    return () => {
      watched.watchers -= 1
      if (watched.watchers > 0) return
      watched.stop?.abort()
      this.#settling.delete(table)
      this.#watched.delete(table)
    }
  }

  #settle(table: string): void {
    if (this.#settling.has(table)) return
    this.#lastCameAt = performance.now()
    this.#settling.set(table, this.#lastCameAt)
    if (this.#settleTimer === undefined) this.#startSettledIn(SETTLE_MS)
  }

  #startSettled(): void {
    const now = performance.now()
    const isQuiet = now - this.#lastCameAt >= SETTLE_MS
    for (const [table, cameAt] of this.#settling) {
      if (!isQuiet && now - cameAt < PATIENCE_MS) break
      const watched = this.#watched.get(table)
      if (watched) this.#start(table, watched)
    }
    this.#settleTimer = undefined
    if (this.#settling.size > 0) this.#startSettledIn(SETTLE_MS - (now - this.#lastCameAt))
  }

  #startSettledIn(ms: number): void {
    this.#settleTimer = setTimeout(() => this.#startSettled(), ms)
  }

  #start(table: string, watched: Watched): void {
    this.#settling.delete(table)
    watched.stop = new AbortController()
    void this.#load(table, watched.stop.signal)
  }

  async #load(table: string, signal: AbortSignal): Promise<void> {
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

/** The shared store of the page. */
export const healthStore = new HealthStore()
