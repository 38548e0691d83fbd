import { useEffect, useSyncExternalStore } from 'react'
import { runLiveSocket } from '../../../api/live-socket.ts'
import type { MonitorMessage } from '../../../api/types.ts'
import { applyMessages, EMPTY_MONITOR, type LiveRow, type MonitorChange, withoutPipeline } from './state.ts'

/** Whether updates arrive; `since` is when they stopped, ms since 1970. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly since: number }

type Listener = () => void

const PATH = '/api/pipeline/monitor'
/** The monitor sends a heartbeat every 15 s; after three missing ones the connection counts as dead. */
const SILENCE_MS = 45_000
/** How long the socket stays open without subscribers, so that a page change does not reconnect. */
const LINGER_MS = 5000
/** A background page renders no frames: messages are then applied after this time, or when this many are queued. */
const HIDDEN_MS = 1000
const MAX_WAITING = 5000

/**
 * Shared monitor for all components that show pipelines: one socket for the page, messages applied once per frame, and
 * only subscribers of changed pipelines notified.
 */
class MonitorStore {
  #state = EMPTY_MONITOR
  #connection: Connection = { kind: 'connecting' }
  #ids: readonly string[] = []
  #waiting: MonitorMessage[] = []
  #isScheduled = false
  #watchers = 0
  #stop: AbortController | undefined
  #lastMessageAt = 0
  readonly #rowListeners = new Map<string, Set<Listener>>()
  readonly #listListeners = new Set<Listener>()
  readonly #connectionListeners = new Set<Listener>()

  readonly connection = (): Connection => this.#connection
  /** A new array whenever pipelines are added or removed, or change their state. */
  readonly ids = (): readonly string[] => this.#ids
  readonly row = (id: string): LiveRow | undefined => this.#state.rows.get(id)
  readonly dropped = (): number => this.#state.dropped

  get rows(): ReadonlyMap<string, LiveRow> {
    return this.#state.rows
  }

  /** Keeps the socket open until the returned function is called. */
  watch(): () => void {
    this.#watchers += 1
    if (this.#stop === undefined) this.#open()
    return () => {
      this.#watchers -= 1
      setTimeout(() => {
        if (this.#watchers === 0) this.#close()
      }, LINGER_MS)
    }
  }

  remove(id: string): void {
    this.#tell(withoutPipeline(this.#state, id))
  }

  readonly onConnection = (listener: Listener): (() => void) => subscribe(this.#connectionListeners, listener)
  readonly onList = (listener: Listener): (() => void) => subscribe(this.#listListeners, listener)

  onRow(id: string, listener: Listener): () => void {
    const listeners = this.#rowListeners.get(id) ?? new Set()
    this.#rowListeners.set(id, listeners)
    const leave = subscribe(listeners, listener)
    return () => {
      leave()
      if (listeners.size === 0 && this.#rowListeners.get(id) === listeners) this.#rowListeners.delete(id)
    }
  }

  #open(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#lastMessageAt = Date.now()
    void runLiveSocket(PATH, {
      signal: stop.signal,
      onMessage: (text) => this.#take(JSON.parse(text) as MonitorMessage),
      onState: (state) => {
        if (state === 'waiting' && this.#stop === stop) this.#lose()
      },
    })
    const check = setInterval(() => {
      if (document.hidden || Date.now() - this.#lastMessageAt < SILENCE_MS) return
      this.#lose()
      this.#close()
      if (this.#watchers > 0) this.#open()
    }, HIDDEN_MS * 5)
    stop.signal.addEventListener('abort', () => clearInterval(check))
  }

  #close(): void {
    this.#stop?.abort()
    this.#stop = undefined
  }

  #lose(): void {
    if (this.#connection.kind === 'lost') return
    this.#connect({ kind: 'lost', since: Date.now() })
  }

  #connect(connection: Connection): void {
    this.#connection = connection
    for (const listener of this.#connectionListeners) listener()
  }

  #take(message: MonitorMessage): void {
    this.#lastMessageAt = Date.now()
    this.#waiting.push(message)
    if (this.#waiting.length > MAX_WAITING) this.#flush()
    else this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    const flush = (): void => {
      this.#isScheduled = false
      this.#flush()
    }
    if (document.hidden) setTimeout(flush, HIDDEN_MS)
    else requestAnimationFrame(flush)
  }

  #flush(): void {
    const messages = this.#waiting
    if (messages.length === 0) return
    this.#waiting = []
    this.#tell(applyMessages(this.#state, messages))
    if (this.#connection.kind !== 'live') this.#connect({ kind: 'live' })
  }

  #tell({ state, changed, isListChanged }: MonitorChange): void {
    this.#state = state
    if (isListChanged) this.#ids = [...state.rows.keys()]
    for (const id of changed) for (const listener of this.#rowListeners.get(id) ?? []) listener()
    if (isListChanged) for (const listener of this.#listListeners) listener()
  }
}

function subscribe(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The shared monitor of the page. */
export const monitorStore = new MonitorStore()

/** Keeps the monitor connected while the component is mounted; returns whether updates arrive. */
export function useMonitor(): Connection {
  useEffect(() => monitorStore.watch(), [])
  return useSyncExternalStore(monitorStore.onConnection, monitorStore.connection)
}

/** The ids of all pipelines; a new array whenever the list may look different. */
export function usePipelineIds(): readonly string[] {
  return useSyncExternalStore(monitorStore.onList, monitorStore.ids)
}

/** The current state of a pipeline. */
export function useLiveRow(id: string): LiveRow | undefined {
  return useSyncExternalStore(
    (listener) => monitorStore.onRow(id, listener),
    () => monitorStore.row(id),
  )
}
