import { createMailbox } from './mailbox.ts'

/** What happened to a pipeline, for those who watch. `payload` is in the shape of the interface. */
export interface HubNews {
  readonly kind: 'state' | 'progress'
  readonly pipelineId: string
  readonly payload: object
  /** Its place among all news of this process: 1, 2, … */
  readonly seq: number
  /** News take the place of those before them with the same key. */
  readonly key: string
}

/** News as one subscriber gets it. */
export interface HubMessage extends HubNews {
  /** Messages that this subscriber missed before this one, as newer ones of the same kind replaced them. */
  readonly dropped: number
}

/** Spreads the news of pipelines to subscribers, none of which can hold up the others or a pipeline. */
export interface MetricsHub {
  publish(kind: HubNews['kind'], pipelineId: string, payload: object): void
  /** The number of the last news; 0: none yet. */
  readonly lastSeq: number
  /** Calls back with all news, or those of one pipeline, as they are published; the answer ends it. */
  listen(listener: (news: HubNews) => void, pipelineId?: string): () => void
  /**
   * News from the moment of the call until the signal aborts. A subscriber that is slow gets the newest state and
   * the newest progress of each pipeline: what waits for it is bounded by the number of pipelines.
   */
  subscribe(signal: AbortSignal, pipelineId?: string): AsyncGenerator<HubMessage, void, undefined>
  /** How many watch. */
  subscriberCount(): number
}

/** A hub in this process. Nothing is kept: who comes later asks for the list of pipelines first. */
export function createMetricsHub(): MetricsHub {
  const listeners = new Set<(news: HubNews) => void>()
  let lastSeq = 0
  const listen: MetricsHub['listen'] = (listener, pipelineId) => {
    const wanted = (news: HubNews): void => {
      if (pipelineId === undefined || news.pipelineId === pipelineId) listener(news)
    }
    listeners.add(wanted)
    return () => void listeners.delete(wanted)
  }
  return {
    publish(kind, pipelineId, payload) {
      lastSeq += 1
      const news = { kind, pipelineId, payload, seq: lastSeq, key: `${kind} ${pipelineId}` }
      for (const listener of listeners) listener(news)
    },
    get lastSeq() {
      return lastSeq
    },
    listen,
    subscribe(signal, pipelineId) {
      const mailbox = createMailbox<HubNews>(signal)
      const leave = signal.aborted ? () => undefined : listen((news) => mailbox.put(news.key, news), pipelineId)
      signal.addEventListener('abort', leave, { once: true }) // also when nobody ever takes a message
      return messages()

      async function* messages(): AsyncGenerator<HubMessage, void, undefined> {
        try {
          for (let next = await mailbox.take(); next; next = await mailbox.take()) {
            for (const [at, news] of next.messages.entries()) yield { ...news, dropped: at === 0 ? next.dropped : 0 }
          }
        } finally {
          leave()
        }
      }
    },
    subscriberCount: () => listeners.size,
  }
}
