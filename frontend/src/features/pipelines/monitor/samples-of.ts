import type { PipelineHistory } from '../../../api/types.ts'
import type { Sample } from './sample.ts'

/** Samples from before and after the page was opened, as one series without duplicate triggers. */
export function joinedSamples(history: PipelineHistory | undefined, live: readonly Sample[]): Sample[] {
  const before = (history?.progress ?? []).map((point): Sample => ({
    atMs: Date.parse(point.at),
    batchId: point.batch_id,
    rows: point.num_input_rows,
    inputRate: point.input_rows_per_second,
    processedRate: point.processed_rows_per_second,
    durationMs: point.batch_duration_ms,
    merged: {
      inserted: point.num_inserted_rows,
      updated: point.num_updated_rows,
      deleted: point.num_deleted_rows,
    },
    lagRows: point.lag_rows,
    lagSeconds: point.lag_seconds,
  }))
  const byTime = new Map([...before, ...live].map((sample) => [sample.atMs, sample]))
  return [...byTime.values()].sort((a, b) => a.atMs - b.atMs)
}
