import type { Kysely } from 'kysely'

import { type Loop, startLoop } from '../../lib/start-loop.ts'
import type { StateTables } from '../../storage/schema.ts'
import { createPipelineStore, type PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { EventWriter } from '../events/event-log.ts'
import { appendPipelineEvent, type PipelineEventType } from './pipeline-events.ts'

export interface RecordedPipelinesDeps {
  readonly db: Kysely<StateTables>
  readonly inTransaction: InTransaction
  readonly events: EventWriter
  readonly now: () => Date
}

/**
 * Pipelines whose ends, failures and diverted rows are written to the event log, in the transaction that stores them. Only the process
 * that holds the lease can store them, so each is written once, whoever runs the pipeline. A pipeline that continues in
 * another process does not change its state. Starts, and requests to stop, are written by those who store them.
 */
export function createRecordedPipelines(deps: RecordedPipelinesDeps): PipelineStore {
  const store = createPipelineStore(deps.db)
  return {
    ...store,
    update(id, owner, update) {
      const diverted = update.progress?.rows_diverted ?? 0
      if (update.state === undefined && diverted === 0) return store.update(id, owner, update)
      return deps.inTransaction(async (tx) => {
        const inTx = createPipelineStore(tx)
        const before = diverted === 0 ? undefined : (await inTx.find(id))?.progress
        if (!(await inTx.update(id, owner, update))) return false
        // a pipeline that diverts rows in each batch is reported once
        const isFirstDiverted = diverted > 0 && (before?.rows_diverted ?? 0) === 0
        if (isFirstDiverted) await append(deps, tx, { id, type: 'pipeline.diverted' })
        if (update.state === 'failed') await append(deps, tx, { id, type: 'pipeline.failed' })
        if (update.state === 'stopped') await append(deps, tx, { id, type: 'pipeline.stopped' })
        if (update.state !== 'degraded') return true
        const isFirst = await inTx.noteFailure(id, deps.now().getTime())
        if (isFirst) await append(deps, tx, { id, type: 'pipeline.degraded' })
        return true
      })
    },
    settle: (id, state, end) =>
      deps.inTransaction(async (tx) => {
        const isSettled = await createPipelineStore(tx).settle(id, state, end)
        if (isSettled) await append(deps, tx, { id, type: `pipeline.${state}` })
        return isSettled
      }),
  }
}

export interface RecoveryWatchDeps extends RecordedPipelinesDeps {
  /** How long a pipeline must run without a failure until it has recovered, ms. */
  readonly steadyMs: number
  readonly onError: (error: unknown) => void
}

/**
 * Regularly reports degraded pipelines that have run without a failure for a while as recovered, so that a pipeline
 * whose every batch fails once is not reported with every batch.
 */
export function watchRecoveries(deps: RecoveryWatchDeps): Loop {
  const everyMs = Math.max(1, deps.steadyMs / 6)
  return startLoop({ everyMs, firstMs: everyMs, tick: () => reportRecovered(deps), onError: deps.onError })
}

async function reportRecovered(deps: RecoveryWatchDeps): Promise<void> {
  const before = deps.now().getTime() - deps.steadyMs
  for (const { id } of await createPipelineStore(deps.db).listSteady(before)) {
    await deps.inTransaction(async (tx) => {
      const isRecovered = await createPipelineStore(tx).noteRecovery(id, before)
      if (isRecovered) await append(deps, tx, { id, type: 'pipeline.recovered' })
    })
  }
}

async function append(
  { events }: Pick<RecordedPipelinesDeps, 'events'>,
  tx: Tx,
  { id, type }: { readonly id: string; readonly type: PipelineEventType },
): Promise<void> {
  const pipeline = await createPipelineStore(tx).find(id)
  if (pipeline !== undefined) await appendPipelineEvent(events, tx, { type, pipeline })
}
