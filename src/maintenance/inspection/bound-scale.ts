import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { compareValues } from '../../iceberg/values/values.ts'
import type { FileRange } from '../clustering/overlap.ts'

/** A scale from the least bound, 0, to the greatest, 1. */
export interface BoundScale {
  /** `linear`: distances are those of the values. `rank`: those in the list of different bounds, for texts and the like. */
  readonly kind: 'linear' | 'rank'
  readonly range: NonNullable<FileRange> | undefined
  place(value: Value): number
}

/** The scale of bounds that are sorted by their lower values. Pure. */
export function boundScale(type: PrimitiveType, sorted: readonly NonNullable<FileRange>[]): BoundScale {
  const [first] = sorted
  if (first === undefined) return { kind: 'linear', range: undefined, place: () => 0 }
  let upper = first.upper
  for (const one of sorted) if (compareValues(type, one.upper, upper) > 0) upper = one.upper
  const range = { lower: first.lower, upper }
  const [low, high] = [numberOf(range.lower), numberOf(range.upper)]
  if (low === undefined || high === undefined) return { kind: 'rank', range, place: placeByRank(type, sorted) }
  return { kind: 'linear', range, place: (value) => placeBetween(value, { low, high }) }
}

/** A number with a finite distance to others; undefined for other values. */
function numberOf(value: Value): number | bigint | undefined {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

interface Ends {
  readonly low: number | bigint
  readonly high: number | bigint
}

/** Parts of a 64-bit distance that are told apart. */
const STEPS = 1_000_000n

function placeBetween(value: Value, { low, high }: Ends): number {
  if (typeof value === 'bigint' && typeof low === 'bigint' && typeof high === 'bigint') {
    return high === low ? 0 : Number(((value - low) * STEPS) / (high - low)) / Number(STEPS)
  }
  const [from, to] = [Number(low), Number(high)]
  // halves, because the distance of two doubles may be infinite
  return to === from ? 0 : (Number(value) / 2 - from / 2) / (to / 2 - from / 2)
}

function placeByRank(type: PrimitiveType, sorted: readonly NonNullable<FileRange>[]): (value: Value) => number {
  const values = sorted
    .flatMap(({ lower, upper }) => [lower, upper])
    .toSorted((a, b) => compareValues(type, a, b))
    .filter((value, at, all) => at === 0 || compareValues(type, value, all[at - 1] as Value) !== 0)
  return (value) => {
    let [low, high] = [0, values.length - 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (compareValues(type, values[middle] as Value, value) < 0) low = middle + 1
      else high = middle
    }
    return values.length < 2 ? 0 : low / (values.length - 1)
  }
}
