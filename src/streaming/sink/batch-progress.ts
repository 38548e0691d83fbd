import type { SourceLag } from '../source/plan.ts'
import type { OffsetView } from '../source/offset.ts'

/** What a trigger did: Spark's `StreamingQueryProgress` in snake_case (docs/api.md#streaming-pipelines). */
export interface BatchProgress {
  readonly id: string
  readonly run_id: string
  readonly batch_id: number
  /** When the trigger started. */
  readonly timestamp: string
  readonly batch_duration_ms: number
  readonly num_input_rows: number
  /** Rows per second since the previous trigger; null when there was none. */
  readonly input_rows_per_second: number | null
  readonly processed_rows_per_second: number | null
  readonly duration_ms: Readonly<Record<string, number>>
  readonly sources: readonly SourceProgress[]
  readonly sink: {
    readonly description: string
    readonly num_output_rows: number
    /** Of the output rows, those whose key the sink did not have. */
    readonly num_inserted_rows: number
    /** Of the output rows, those that replaced one with the same key. */
    readonly num_updated_rows: number
    readonly num_deleted_rows: number
    readonly snapshot_id: string | null
    /** The branch that has the rows; absent: `main`. */
    readonly branch?: string
  }
  /** Rows that check nodes wrote to other tables. */
  readonly rows_diverted: number
  /** Rows that check and deduplicate nodes left out. */
  readonly rows_dropped: number
  /** Each expectation of the check nodes. */
  readonly checks: readonly CheckProgress[]
}

/** How many rows of a batch failed an expectation. */
export interface CheckProgress {
  readonly node_id: string
  readonly name: string
  readonly failed: number
  readonly total: number
}

/** A batch of a query without checks. */
export const NO_CHECKS = { rows_diverted: 0, rows_dropped: 0, checks: [] } as const satisfies Partial<BatchProgress>

export interface SourceProgress {
  readonly description: string
  readonly start_offset: OffsetView | null
  readonly end_offset: OffsetView | null
  /** The newest snapshot of the table; null while it has none. */
  readonly latest_offset: { readonly snapshot_id: string } | null
  readonly num_input_rows: number
  readonly lag: SourceLag
}

/** The interval at which Spark reports an idle query. */
export const IDLE_PROGRESS_MS = 10_000

/** Rows per second, rounded to a tenth as Spark does; null when there is no time to divide by. */
export function ratePerSecond(rows: number, ms: number | undefined): number | null {
  return ms === undefined || ms <= 0 ? null : Math.round((rows * 10_000) / ms) / 10
}

/** Measures the parts of a trigger, ms. */
export class Stopwatch {
  readonly #parts: Record<string, number> = {}
  readonly #startedAt = performance.now()

  async time<T>(part: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      this.#parts[part] = (this.#parts[part] ?? 0) + Math.round(performance.now() - startedAt)
    }
  }

  /** All parts, and the whole as `trigger_execution`. */
  parts(): Readonly<Record<string, number>> {
    return { ...this.#parts, trigger_execution: Math.round(performance.now() - this.#startedAt) }
  }
}

/** The report of a trigger that found nothing to read, after the last batch. */
export function idleProgress(last: BatchProgress, now: Date): BatchProgress {
  return {
    ...last,
    timestamp: now.toISOString(),
    batch_duration_ms: 0,
    num_input_rows: 0,
    input_rows_per_second: 0,
    processed_rows_per_second: 0,
    duration_ms: { trigger_execution: 0 },
    sources: last.sources.map((source) => ({
      ...source,
      start_offset: source.end_offset,
      num_input_rows: 0,
      lag: { snapshots: 0, files: 0, rows: 0, bytes: 0, seconds: 0 },
    })),
    sink: { ...last.sink, num_output_rows: 0, num_inserted_rows: 0, num_updated_rows: 0, num_deleted_rows: 0 },
    rows_diverted: 0,
    rows_dropped: 0,
    checks: last.checks.map((check) => ({ ...check, failed: 0, total: 0 })),
  }
}

/** The progress of a batch whose rows have come from a branch to `main`. */
export function onceOnMain<Progress extends { readonly sink: { readonly branch?: string | undefined } }>(
  progress: Progress,
): Progress {
  const { branch: _, ...sink } = progress.sink
  return { ...progress, sink }
}
