import type { EventStore } from '../../storage/stores/event-store.ts'
import { fromRequiredColumn } from '../../storage/json-column.ts'
import type { EventsTable } from '../../storage/schema.ts'

/** An event as the API returns it. */
export interface EventView {
  readonly seq: number
  readonly at: string
  readonly type: string
  readonly object_type: string
  readonly object_id: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Reads the event log, once or continuously. */
export interface EventFeed {
  /** Up to `limit` events after `since`, oldest first; with a filter (`approval.*`) only those that match it. */
  after(since: number, limit: number, filter?: string): Promise<readonly EventView[]>
  /** The sequence number of the newest event. */
  lastSeq(): Promise<number>
  /** Every event after `since` (default: from now on), in order, until the signal is aborted. */
  follow(since: number | undefined, signal: AbortSignal): AsyncGenerator<EventView>
  /** Ends all `follow` loops. */
  close(): void
}

export interface EventFeedDeps {
  readonly store: EventStore
  /** Calls back after each commit of this process. */
  readonly onCommit: (listener: () => void) => () => void
  /** How often to look for events of other processes, in ms; undefined when there are none. */
  readonly pollMs: number | undefined
}

const EVENTS_AT_ONCE = 200

/** A feed over the event log of the state database. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store } = deps
  const closing = new AbortController()
  return {
    after: async (since, limit, filter) => (await store.after(since, limit, filter)).map(toEventView),
    lastSeq: () => store.lastSeq(),
    async *follow(since, followerSignal) {
      const signal = AbortSignal.any([followerSignal, closing.signal])
      let last = since ?? (await store.lastSeq())
      while (!signal.aborted) {
        const changed = nextCommit(deps, signal)
        try {
          const events = await store.after(last, EVENTS_AT_ONCE)
          for (const event of events) {
            last = event.seq
            yield toEventView(event)
          }
          if (events.length < EVENTS_AT_ONCE) await changed.promise
        } finally {
          changed.cancel()
        }
      }
    },
    close: () => closing.abort(),
  }
}

/** Resolves at the next commit of this process, when other processes are due to be checked, or on abort. */
function nextCommit({ onCommit, pollMs }: EventFeedDeps, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopListening = onCommit(resolve)
  const timer = pollMs === undefined ? undefined : setTimeout(resolve, pollMs)
  const aborted = (): void => resolve()
  signal.addEventListener('abort', aborted, { once: true })
  if (signal.aborted) resolve()
  const cancel = (): void => {
    stopListening()
    clearTimeout(timer)
    signal.removeEventListener('abort', aborted)
  }
  return { promise, cancel }
}

/** A stored event as the API returns it. */
export function toEventView(event: EventsTable): EventView {
  return {
    seq: event.seq,
    at: event.at,
    type: event.type,
    object_type: event.object_type,
    object_id: event.object_id,
    data: fromRequiredColumn<Readonly<Record<string, unknown>>>(event.data_json),
  }
}
