import type { Pipeline, PipelineProgress } from '../../api/types.ts'

/** What a chart shows of one trigger. */
export interface Sample {
  readonly atMs: number
  readonly batchId: number
  readonly rows: number
  /** Rows per second that were read; null when the trigger read nothing that time could be divided by. */
  readonly rate: number | null
  readonly durationMs: number
  /** Rows that are not read yet, of all sources together. */
  readonly lagRows: number
  /** How far the source that is furthest behind is behind, s. */
  readonly lagSeconds: number
}

/** A trigger as the interface tells it, for a chart. */
export function sampleOf(progress: PipelineProgress): Sample {
  let lagRows = 0
  let lagSeconds = 0
  for (const { lag } of progress.sources) {
    lagRows += lag.rows
    lagSeconds = Math.max(lagSeconds, lag.seconds)
  }
  return {
    atMs: Date.parse(progress.timestamp),
    batchId: progress.batch_id,
    rows: progress.num_input_rows,
    rate: progress.num_input_rows === 0 ? 0 : progress.processed_rows_per_second,
    durationMs: progress.batch_duration_ms,
    lagRows,
    lagSeconds,
  }
}

/** The newest trigger of a pipeline, unless it has had none. */
export function lastSampleOf({ last_progress: last }: Pipeline): Sample | undefined {
  return last ? sampleOf(last) : undefined
}
