/** How to read points. */
export interface PointReader<T> {
  /** The time of a point, ms since 1970. */
  readonly atMs: (point: T) => number
  /** The values whose least and greatest must stay; null: a point has no such value. */
  readonly values: readonly ((point: T) => number | null)[]
}

/** Spans of the first attempt: in a line with long gaps, most of them have no point. */
const SPANS_PER_POINT = 4

/**
 * Chooses at most `limit` points of a line, which is in the order of time. Of each of some equal spans of time, the first and
 * the last point stay, and for each value a point with the least and one with the greatest. No point is made up.
 * `limit` is at least two points more than two for each value.
 */
export function thinPoints<T>(points: readonly T[], limit: number, reader: PointReader<T>): readonly T[] {
  if (points.length <= limit) return points
  for (let spans = limit * SPANS_PER_POINT; spans > 1; spans = Math.floor(spans / 2)) {
    const kept = extremesOfSpans(points, spans, reader)
    if (kept.length <= limit) return kept
  }
  return extremePoints(points, reader)
}

/** The first and the last point of a line, and for each value a point with the least and one with the greatest. */
export function extremePoints<T>(points: readonly T[], reader: PointReader<T>): readonly T[] {
  return inOrder(points, extremesOf(points, reader))
}

function extremesOfSpans<T>(points: readonly T[], spans: number, reader: PointReader<T>): readonly T[] {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return points
  const startMs = reader.atMs(first)
  const width = Math.max(1, reader.atMs(last) - startMs) / spans
  const spanOf = (point: T): number => Math.min(spans - 1, Math.floor((reader.atMs(point) - startMs) / width))
  const kept: number[] = []
  for (let begin = 0; begin < points.length;) {
    const span = spanOf(points[begin] ?? first)
    let end = begin + 1
    while (end < points.length && spanOf(points[end] ?? first) === span) end += 1
    const start = begin
    kept.push(...extremesOf(points.slice(begin, end), reader).map((place) => start + place))
    begin = end
  }
  return inOrder(points, kept)
}

/** The places of the first and the last point, and of the extremes of each value, each once. */
function extremesOf<T>(points: readonly T[], { values }: PointReader<T>): readonly number[] {
  if (points.length === 0) return []
  const places = new Set([0, points.length - 1])
  for (const valueOf of values) {
    let least: Extreme | undefined
    let greatest: Extreme | undefined
    for (const [at, point] of points.entries()) {
      const value = valueOf(point)
      if (value === null) continue
      if (least === undefined || value < least.value) least = { at, value }
      if (greatest === undefined || value > greatest.value) greatest = { at, value }
    }
    for (const extreme of [least, greatest]) if (extreme) places.add(extreme.at)
  }
  return [...places]
}

interface Extreme {
  readonly at: number
  readonly value: number
}

function inOrder<T>(points: readonly T[], places: readonly number[]): readonly T[] {
  return places.toSorted((a, b) => a - b).flatMap((at) => points.slice(at, at + 1))
}
