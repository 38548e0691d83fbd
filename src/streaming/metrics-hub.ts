import { createMailbox, type Delivery } from './mailbox.ts'

/** What pipelines report; `pipeline` and `progress` are as the interface shows them (contract, section 6). */
export type PipelineReport =
  | { readonly type: 'state'; readonly pipeline: { readonly id: string } }
  | { readonly type: 'progress'; readonly pipelineId: string; readonly progress: object }

/** A report with its place among all reports of this process: 1, 2, … */
export type PipelineUpdate = PipelineReport & { readonly seq: number }

export interface HubFilter {
  /** Only this pipeline; default all. */
  readonly pipelineId?: string | undefined
}

/**
 * Hands what pipelines report to everybody who watches. Publishing never waits: who cannot keep up gets the newest
 * state and the newest progress of each pipeline, and how much was left out.
 */
export interface MetricsHub {
  /** Tells all who listen; called by the supervisor at each change of state and after each trigger. */
  publish(report: PipelineReport): void
  /** The number of the last update; 0: none yet. */
  readonly lastSeq: number
  /** Calls back with each update, at once; the answer ends it. */
  listen(listener: (update: PipelineUpdate) => void, filter?: HubFilter): () => void
  /** Updates from now on until the signal is aborted, coalesced while nobody takes them. */
  subscribe(signal: AbortSignal, filter?: HubFilter): AsyncGenerator<Delivery<PipelineUpdate>>
}

/** A hub for the pipelines of this process. Nothing is kept: who comes later asks for the list of pipelines first. */
export function createMetricsHub(): MetricsHub {
  const listeners = new Set<(update: PipelineUpdate) => void>()
  let lastSeq = 0
  const listen: MetricsHub['listen'] = (listener, filter = {}) => {
    const wanted = filter.pipelineId
    const filtered = (update: PipelineUpdate): void => {
      if (wanted === undefined || pipelineOf(update) === wanted) listener(update)
    }
    listeners.add(filtered)
    return () => void listeners.delete(filtered)
  }
  return {
    publish(report) {
      lastSeq += 1
      const update = { ...report, seq: lastSeq }
      for (const listener of listeners) listener(update)
    },
    get lastSeq() {
      return lastSeq
    },
    listen,
    async *subscribe(signal, filter) {
      const mailbox = createMailbox<PipelineUpdate>(signal)
      const stop = listen((update) => mailbox.put(updateKey(update), update), filter)
      try {
        for (let next = await mailbox.take(); next !== undefined; next = await mailbox.take()) yield next
      } finally {
        stop()
      }
    },
  }
}

/** The id of the pipeline that an update is about. */
export function pipelineOf(report: PipelineReport): string {
  return report.type === 'state' ? report.pipeline.id : report.pipelineId
}

/** An update takes the place of the one before it with the same key. */
export function updateKey(report: PipelineReport): string {
  return `${report.type} ${pipelineOf(report)}`
}
