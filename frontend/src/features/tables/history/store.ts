import { Limiter } from '../../../api/limiter.ts'
import { queryClient } from '../../../api/query-client.ts'
import type { HealthSample } from '../../../api/types.ts'
import { healthHistoryQuery } from './query.ts'

/** The samples of a table in a list, newest first. */
export interface KnownHistory {
  readonly samples?: readonly HealthSample[]
  readonly error?: unknown
}

/** Samples of a sparkline. */
export const SPARK_SAMPLES = 30
const AT_ONCE = 4
/** While rows appear faster than this, the user is scrolling, and nothing is requested. */
const SETTLE_MS = 100
/** The history of a row that stays visible is requested after this time. */
const PATIENCE_MS = 500
const FRESH_MS = 60_000
const NOTHING: KnownHistory = {}

interface Watched {
  watchers: number
  /** Cancels the request; undefined until one is started. */
  stop?: AbortController
}

/**
 * Health histories for lists: requested while a table is subscribed, a few at a time, and cancelled when it no longer is.
 */
class HistoryStore {
  readonly #known = new Map<string, KnownHistory>()
  readonly #watched = new Map<string, Watched>()
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #limiter = new Limiter(AT_ONCE)
  /** When each table came into view that waits for scrolling to stop; oldest first. */
  readonly #settling = new Map<string, number>()
  #lastCameAt = 0
  #settleTimer: ReturnType<typeof setTimeout> | undefined

  /** The known history of a table; the same object until it changes. */
  get(table: string): KnownHistory {
    return this.#known.get(table) ?? NOTHING
  }

  /** Subscribes to one table; its history is requested while it has subscribers. */
  watch(table: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(table) ?? new Set()
    this.#listeners.set(table, listeners.add(listener))
    const watched = this.#watched.get(table) ?? { watchers: 0 }
    this.#watched.set(table, watched)
    watched.watchers += 1
    if (watched.stop === undefined) this.#settle(table)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(table)
      this.#release(table, watched)
    }
  }

  #release(table: string, watched: Watched): void {
    watched.watchers -= 1
    if (watched.watchers > 0) return
    watched.stop?.abort()
    this.#settling.delete(table)
    this.#watched.delete(table)
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
      const query = { ...healthHistoryQuery(table, SPARK_SAMPLES), staleTime: FRESH_MS }
      const { samples } = await this.#limiter.run(() => queryClient.fetchQuery(query), signal)
      this.#tell(table, { samples })
    } catch (error) {
      if (!signal.aborted) this.#tell(table, { error })
    }
  }

  #tell(table: string, known: KnownHistory): void {
    this.#known.set(table, known)
    for (const listener of this.#listeners.get(table) ?? []) listener()
  }
}

/** The shared store of the page. */
export const historyStore = new HistoryStore()
