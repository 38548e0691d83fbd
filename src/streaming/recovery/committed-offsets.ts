import type { SinkState } from '../sink/progress.ts'
import { isStart, type StreamingOffset } from '../source/offset.ts'
import type { CheckpointState } from '../checkpoint/checkpoint.ts'
import { mismatch } from '../pipeline-errors.ts'
import { isBatchDone, startOf } from './recover.ts'

/**
 * How far a query has read each source into its sink, in committed batches only: a batch that is logged in the checkpoint
 * but is not in the sink does not count. Undefined for a source of which nothing was read.
 *
 * Throws `PipelineStopped` `CHECKPOINT_MISMATCH` when checkpoint and sink do not belong together.
 */
export function committedOffsets(state: CheckpointState, sink: SinkState): readonly (StreamingOffset | undefined)[] {
  return lastCommitted(state, sink).map((offset) => (offset === undefined || isStart(offset) ? undefined : offset))
}

function lastCommitted(state: CheckpointState, sink: SinkState): readonly (StreamingOffset | undefined)[] {
  const { latest } = state
  if (latest !== undefined && latest.batchId >= sink.lastBatch) {
    if (isBatchDone(latest, state, sink)) return latest.offsets
    const start = startOf(latest, state, sink)
    if (start === undefined) throw mismatch(`the start of batch ${latest.batchId} of the checkpoint is no longer known`)
    return start
  }
  if (sink.lastBatch < 0) return state.initial
  const { progress } = sink
  if (progress?.batchId !== sink.lastBatch) {
    throw mismatch(`batch ${sink.lastBatch} of the sink is missing in the checkpoint`)
  }
  return progress.positions.map(({ offset }) => offset)
}
