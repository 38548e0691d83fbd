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
/** As long as rows come into view faster than this, somebody scrolls and most of them only fly by: none is asked for. */
const SETTLE_MS = 100
/** A row that stays in view is asked for after so long, whatever else comes. */
const PATIENCE_MS = 500
const FRESH_MS = 60_000
const NOTHING: KnownHealth = {}

interface Watched {
  watchers: number
  /** Calls the request off; undefined as long as none was begun. */
  stop?: AbortController
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
  /** When each of the tables that wait for quiet came into view, the longest first. */
  readonly #settling = new Map<string, number>()
  #lastCameAt = 0
  #settleTimer: ReturnType<typeof setTimeout> | undefined
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
    const release = this.#want(table, () => this.#settle(table))
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

/** The one store of the page. */
export const healthStore = new HealthStore()
