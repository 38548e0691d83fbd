import { type Loop, startLoop } from '../../lib/start-loop.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { MetricsHub } from './metrics-hub.ts'
import { describePipeline } from './pipeline-view.ts'

export interface PollDeps {
  readonly store: Pick<PipelineStore, 'listOfOtherInstances' | 'find'>
  /** This process among those that share the state database. */
  readonly instanceId: number
  readonly hub: MetricsHub
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** What was last published about a pipeline. */
interface Published {
  readonly state: string
  readonly progress: string
}

/**
 * Publishes to subscribers of this process what the state database has about pipelines that run in other processes:
 * their states and their latest batches.
 */
export function pollOtherInstances(deps: PollDeps): Loop {
  const { everyMs, onError } = deps
  const published = new Map<string, Published>()
  return startLoop({ everyMs, firstMs: everyMs, tick: () => poll(deps, published), onError })
}

async function poll({ store, instanceId, hub }: PollDeps, published: Map<string, Published>): Promise<void> {
  const remote = await store.listOfOtherInstances(instanceId)
  const seen = new Set(remote.map(({ id }) => id))
  for (const record of remote) {
    const before = published.get(record.id)
    const now = { state: stateKey(record), progress: JSON.stringify(record.progress ?? null) }
    published.set(record.id, now)
    if (before?.state !== now.state) hub.relay('state', record.id, describePipeline(record))
    const { progress } = record
    const isNew = before !== undefined && before.progress !== now.progress
    if (isNew && typeof progress === 'object' && progress !== null) hub.relay('progress', record.id, progress)
  }
  for (const id of [...published.keys()].filter((known) => !seen.has(known))) {
    published.delete(id)
    const record = await store.find(id)
    if (record !== undefined) hub.relay('state', id, describePipeline(record))
  }
}

function stateKey({ runId, state, desiredState, error, warnings }: PipelineRecord): string {
  return JSON.stringify([runId, state, desiredState, error ?? null, warnings])
}
