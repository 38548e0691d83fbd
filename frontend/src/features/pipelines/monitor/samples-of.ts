import type { PipelineHistory } from '../../../api/types.ts'
import type { Sample } from './sample.ts'

/**
 * Stored samples, and those after them that came while the page is open. Stored ones may leave out triggers, so that live
 * ones from before the newest of them are not added.
 */
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
    isAfterGap: point.after_gap,
  }))
  const newest = before.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY
  return [...before, ...live.filter(({ atMs }) => atMs > newest)]
}
