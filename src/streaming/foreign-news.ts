import type { PipelineRecord, PipelineStore } from '../storage/pipeline-store.ts'
import type { MetricsHub } from './metrics-hub.ts'
import { describePipeline } from './pipeline-view.ts'

export interface ForeignNewsDeps {
  readonly store: Pick<PipelineStore, 'listElsewhere' | 'find'>
  /** This process among those that share the state database. */
  readonly instanceId: number
  readonly hub: MetricsHub
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** What was last told of a pipeline. */
interface Told {
  readonly state: string
  readonly progress: string
}

/**
 * Tells those who watch at this process of the pipelines that run in others, as far as the state database has it: their
 * states and the last of their batches. The answer ends it.
 */
export function followForeignNews(deps: ForeignNewsDeps): () => Promise<void> {
  const told = new Map<string, Told>()
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    looking ??= look(deps, told)
      .catch(deps.onError)
      .finally(() => {
        looking = undefined
      })
  }, deps.everyMs)
  return async () => {
    clearInterval(timer)
    await looking
  }
}

async function look({ store, instanceId, hub }: ForeignNewsDeps, told: Map<string, Told>): Promise<void> {
  const elsewhere = await store.listElsewhere(instanceId)
  const seen = new Set(elsewhere.map(({ id }) => id))
  for (const record of elsewhere) {
    const before = told.get(record.id)
    const now = { state: stateKey(record), progress: JSON.stringify(record.progress ?? null) }
    told.set(record.id, now)
    if (before?.state !== now.state) hub.publish('state', record.id, describePipeline(record))
    const { progress } = record
    const isNew = before !== undefined && before.progress !== now.progress
    if (isNew && typeof progress === 'object' && progress !== null) hub.publish('progress', record.id, progress)
  }
  for (const id of [...told.keys()].filter((known) => !seen.has(known))) {
    told.delete(id)
    const record = await store.find(id)
    if (record !== undefined) hub.publish('state', id, describePipeline(record))
  }
}

function stateKey({ runId, state, desiredState, error, warnings }: PipelineRecord): string {
  return JSON.stringify([runId, state, desiredState, error ?? null, warnings])
}
