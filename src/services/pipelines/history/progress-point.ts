import { extremePoints, type PointReader, thinPoints } from '../../../lib/thin-points.ts'
import { fromRequiredColumn, toRequiredColumn } from '../../../storage/json-column.ts'
import type { BatchProgress } from '../../../streaming/sink/batch-progress.ts'

/** A trigger as a point in a chart. */
export interface ProgressPoint {
  readonly at: string
  readonly batch_id: number
  readonly num_input_rows: number
  readonly num_output_rows: number
  /** Of the output rows, those with a new key, and those that replaced a row with their key. */
  readonly num_inserted_rows: number
  readonly num_updated_rows: number
  readonly num_deleted_rows: number
  readonly rows_diverted: number
  readonly rows_dropped: number
  readonly input_rows_per_second: number | null
  readonly processed_rows_per_second: number | null
  readonly batch_duration_ms: number
  /** Unread rows of all sources together, and the seconds of the source that is furthest behind. */
  readonly lag_rows: number
  readonly lag_seconds: number
  /** Between this point and the one before, nothing was reported for longer than the trigger interval explains. */
  readonly after_gap: boolean
}

/** A trigger without the rows of each source. */
export function pointOf(progress: BatchProgress, isAfterGap: boolean): ProgressPoint {
  const { sink } = progress
  let rows = 0
  let seconds = 0
  for (const { lag } of progress.sources) {
    rows += lag.rows
    seconds = Math.max(seconds, lag.seconds)
  }
  return {
    at: progress.timestamp,
    batch_id: progress.batch_id,
    num_input_rows: progress.num_input_rows,
    num_output_rows: sink.num_output_rows,
    num_inserted_rows: sink.num_inserted_rows,
    num_updated_rows: sink.num_updated_rows,
    num_deleted_rows: sink.num_deleted_rows,
    rows_diverted: progress.rows_diverted,
    rows_dropped: progress.rows_dropped,
    input_rows_per_second: progress.input_rows_per_second,
    processed_rows_per_second: progress.processed_rows_per_second,
    batch_duration_ms: progress.batch_duration_ms,
    lag_rows: rows,
    lag_seconds: seconds,
    after_gap: isAfterGap,
  }
}

/** When a trigger ended, ms since 1970. */
export function endOf({ at, batch_duration_ms: ms }: ProgressPoint): number {
  return Date.parse(at) + ms
}

type Value = (point: ProgressPoint) => number | null

/** A value of triggers that ran a batch; the others have no rate and no duration. */
function ofBatches(valueOf: Value): Value {
  return (point) => (point.num_input_rows === 0 && point.batch_duration_ms === 0 ? null : valueOf(point))
}

/** The values that charts draw. */
const READER: PointReader<ProgressPoint> = {
  atMs: ({ at }) => Date.parse(at),
  values: [
    ofBatches((point) => point.input_rows_per_second ?? point.processed_rows_per_second),
    ofBatches((point) => point.batch_duration_ms),
    (point) => point.lag_rows,
    ofBatches((point) => point.num_inserted_rows),
    ofBatches((point) => point.num_updated_rows),
    ofBatches((point) => point.num_deleted_rows),
  ],
}

/** At most `limit` of the points, with the extremes of each value; a gap between two that stay is kept. */
export function thinProgress(points: readonly ProgressPoint[], limit: number): readonly ProgressPoint[] {
  return withGaps(points, thinPoints(points, limit, READER))
}

/** The first and last point and the extremes of each value; a gap between two that stay is kept. */
export function extremeProgress(points: readonly ProgressPoint[]): readonly ProgressPoint[] {
  return withGaps(points, extremePoints(points, READER))
}

function withGaps(points: readonly ProgressPoint[], kept: readonly ProgressPoint[]): readonly ProgressPoint[] {
  const staying = new Set(kept)
  const result: ProgressPoint[] = []
  let isAfterGap = false
  for (const point of points) {
    isAfterGap ||= point.after_gap
    if (!staying.has(point)) continue
    result.push(isAfterGap === point.after_gap ? point : { ...point, after_gap: isAfterGap })
    isAfterGap = false
  }
  return result
}

/** The fields of a stored point, in the order of its numbers. A new field is added at the end. */
const PACKED = [
  'batch_id',
  'num_input_rows',
  'num_output_rows',
  'num_inserted_rows',
  'num_updated_rows',
  'num_deleted_rows',
  'rows_diverted',
  'rows_dropped',
  'input_rows_per_second',
  'processed_rows_per_second',
  'batch_duration_ms',
  'lag_rows',
  'lag_seconds',
] as const satisfies readonly (keyof ProgressPoint)[]

type PackedPoint = readonly [at: string, afterGap: 0 | 1, ...values: (number | null)[]]

/** Points as text for the state database: about 80 bytes for each. */
export function packPoints(points: readonly ProgressPoint[]): string {
  return toRequiredColumn(
    points.map((point) => [point.at, point.after_gap ? 1 : 0, ...PACKED.map((field) => point[field])]),
  )
}

/** The points of {@link packPoints}. */
export function unpackPoints(text: string): readonly ProgressPoint[] {
  return fromRequiredColumn<readonly PackedPoint[]>(text).map(([at, gap, ...values]) => {
    const number = (field: (typeof PACKED)[number]): number | null => values[PACKED.indexOf(field)] ?? null
    const count = (field: (typeof PACKED)[number]): number => number(field) ?? 0
    return {
      at,
      batch_id: count('batch_id'),
      num_input_rows: count('num_input_rows'),
      num_output_rows: count('num_output_rows'),
      num_inserted_rows: count('num_inserted_rows'),
      num_updated_rows: count('num_updated_rows'),
      num_deleted_rows: count('num_deleted_rows'),
      rows_diverted: count('rows_diverted'),
      rows_dropped: count('rows_dropped'),
      input_rows_per_second: number('input_rows_per_second'),
      processed_rows_per_second: number('processed_rows_per_second'),
      batch_duration_ms: count('batch_duration_ms'),
      lag_rows: count('lag_rows'),
      lag_seconds: count('lag_seconds'),
      after_gap: gap === 1,
    }
  })
}
