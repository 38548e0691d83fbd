/** A bar from 0 to 1. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Bars in lanes, so that those of one lane do not overlap; the number of lanes is the greatest number of bars at one place. */
export interface Lanes {
  readonly count: number
  /** For each bar, its lane, from 0. */
  readonly laneOf: readonly number[]
}

/** Puts bars that are sorted by their starts into the lowest free lane. With `mayTouch`, one may begin where another ends. */
export function lanesOf(bars: readonly Span[], mayTouch: boolean): Lanes {
  const ends: number[] = []
  const laneOf = bars.map(({ start, end }) => {
    const free = ends.findIndex((taken) => (mayTouch ? taken <= start : taken < start))
    const lane = free < 0 ? ends.length : free
    ends[lane] = end
    return lane
  })
  return { count: ends.length, laneOf }
}
