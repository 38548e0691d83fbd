import type { Pipeline, PipelineProgress } from '../../../api/types.ts'

/** Numbers of rows of a sink. */
export interface MergedCounts {
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
}

/** What a chart shows of one trigger. */
export interface Sample {
  readonly atMs: number
  readonly batchId: number
  readonly rows: number
  /** Rows per second since the trigger before; null when there was none. */
  readonly inputRate: number | null
  /** Rows per second of the time that the batch took. */
  readonly processedRate: number | null
  readonly durationMs: number
  /** What the trigger did to rows of the sink. */
  readonly merged: MergedCounts
  /** Rows that are not read yet, of all sources together. */
  readonly lagRows: number
  /** How far the source that is furthest behind is behind, s. */
  readonly lagSeconds: number
  /** Whether nothing was reported before, for longer than the trigger explains; undefined: not known. */
  readonly isAfterGap?: boolean
}

/** A trigger of the API as a sample for charts. */
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
    inputRate: progress.input_rows_per_second,
    processedRate: progress.processed_rows_per_second,
    durationMs: progress.batch_duration_ms,
    merged: mergedBy(progress.sink),
    lagRows,
    lagSeconds,
  }
}

/** Progress that an earlier release stored has no counts: it only inserted rows. */
function mergedBy(sink: PipelineProgress['sink']): MergedCounts {
  const { num_output_rows: output, num_inserted_rows: inserted = output } = sink
  return { inserted, updated: sink.num_updated_rows ?? 0, deleted: sink.num_deleted_rows ?? 0 }
}

/** Rows per second since the previous trigger or, for a first batch, during the batch. */
export function rateOf({ rows, inputRate, processedRate }: Sample): number | null {
  return rows === 0 ? 0 : (inputRate ?? processedRate)
}

/** Whether a trigger found no new rows and ran no batch, so that it has no rate and duration. */
export function isIdle({ rows, durationMs }: Pick<Sample, 'rows' | 'durationMs'>): boolean {
  return rows === 0 && durationMs === 0
}

/** The newest trigger of a pipeline, unless it has had none. */
export function lastSampleOf({ last_progress: last }: Pipeline): Sample | undefined {
  return last ? sampleOf(last) : undefined
}
