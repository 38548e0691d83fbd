/** A change of a pipeline, for subscribers. `payload` has the shape of the HTTP interface. */
export interface HubEvent {
  readonly kind: 'state' | 'progress'
  readonly pipelineId: string
  readonly payload: object
  /** Its sequence number in this process: 1, 2, … */
  readonly seq: number
  /** A newer event replaces an older one with the same key. */
  readonly key: string
  /** Another process runs the pipeline, and this event may leave out some before it. */
  readonly isRelayed: boolean
}

/** Sends pipeline events to subscribers; none of them can delay the others or a pipeline. */
export interface MetricsHub {
  publish(kind: HubEvent['kind'], pipelineId: string, payload: object): void
  /** Publishes what is known of a pipeline of another process. */
  relay(kind: HubEvent['kind'], pipelineId: string, payload: object): void
  /** The number of the last event; 0: none yet. */
  readonly lastSeq: number
  /** Calls back with all events, or those of one pipeline, as they are published; returns the unsubscribe function. */
  listen(listener: (event: HubEvent) => void, pipelineId?: string): () => void
  /** The number of subscribers. */
  subscriberCount(): number
}

/** A hub in this process. Events are not stored: a new subscriber reads the list of pipelines first. */
export function createMetricsHub(): MetricsHub {
  const listeners = new Set<(event: HubEvent) => void>()
  let lastSeq = 0
  const send = (event: Omit<HubEvent, 'seq' | 'key'>): void => {
    lastSeq += 1
    const numbered = { ...event, seq: lastSeq, key: `${event.kind} ${event.pipelineId}` }
    for (const listener of listeners) listener(numbered)
  }
  return {
    publish: (kind, pipelineId, payload) => send({ kind, pipelineId, payload, isRelayed: false }),
    relay: (kind, pipelineId, payload) => send({ kind, pipelineId, payload, isRelayed: true }),
    get lastSeq() {
      return lastSeq
    },
    listen(listener, pipelineId) {
      const wanted = (event: HubEvent): void => {
        if (pipelineId === undefined || event.pipelineId === pipelineId) listener(event)
      }
      listeners.add(wanted)
      return () => void listeners.delete(wanted)
    },
    subscriberCount: () => listeners.size,
  }
}
