import { IcebergError } from '../errors.ts'
import { containerCardinality, containerHas, containerOf, forEachContainerRange } from './roaring-container.ts'
import type { Container } from './roaring-container.ts'

const CHUNK_SIZE = 65_536

/** A container and the row position of its value 0; `base` is a multiple of 65,536. */
export interface BitmapChunk {
  readonly base: number
  readonly container: Container
}

/**
 * An immutable set of row positions (0 to 2^53-1), compressed as a 64-bit roaring bitmap.
 * Chunks ascend by base; none is empty.
 */
export class PositionBitmap {
  readonly chunks: readonly BitmapChunk[]
  /** Number of positions. */
  readonly cardinality: number

  constructor(chunks: readonly BitmapChunk[]) {
    this.chunks = chunks
    this.cardinality = chunks.reduce((sum, chunk) => sum + containerCardinality(chunk.container), 0)
  }

  /** The set of the given positions, in any order; `INVALID_ARGUMENT` for one that is not a position. */
  static of(positions: Iterable<number>): PositionBitmap {
    const sorted = Float64Array.from(positions).sort()
    const chunks: BitmapChunk[] = []
    const buffer = new Uint16Array(CHUNK_SIZE)
    let used = 0
    let base = -1
    const flush = (): void => {
      if (used > 0) chunks.push({ base, container: containerOf(buffer.slice(0, used)) })
      used = 0
    }
    let previous = -1
    for (const position of sorted) {
      requirePosition(position)
      if (position === previous) continue
      previous = position
      const low = position % CHUNK_SIZE
      if (position - low !== base) {
        flush()
        base = position - low
      }
      buffer[used++] = low
    }
    flush()
    return new PositionBitmap(chunks)
  }

  /** The union of several sets. */
  static union(bitmaps: readonly PositionBitmap[]): PositionBitmap {
    const byBase = Map.groupBy(
      bitmaps.flatMap(({ chunks }) => chunks),
      ({ base }) => base,
    )
    const united = [...byBase].map(([base, chunks]): BitmapChunk => {
      const [first, ...others] = chunks.map(({ container }) => container)
      return first !== undefined && others.length === 0
        ? { base, container: first }
        : { base, container: unionOf(chunks) }
    })
    return new PositionBitmap(united.sort((a, b) => a.base - b.base))
  }

  /** Whether the set holds a position. */
  has(position: number): boolean {
    const low = position % CHUNK_SIZE
    const base = position - low
    let from = 0
    let to = this.chunks.length
    while (from < to) {
      const middle = (from + to) >>> 1
      const chunk = this.chunks[middle]
      if (chunk === undefined) return false
      if (chunk.base === base) return containerHas(chunk.container, low)
      if (chunk.base < base) from = middle + 1
      else to = middle
    }
    return false
  }

  /** Calls `visit` with the ranges [start, end) of the set, ascending; they may be adjacent at multiples of 65,536. */
  forEachRange(visit: (start: number, end: number) => void): void {
    for (const { base, container } of this.chunks) {
      forEachContainerRange(container, (start, end) => visit(base + start, base + end))
    }
  }

  /** All positions, ascending. */
  toArray(): Float64Array {
    const positions = new Float64Array(this.cardinality)
    let at = 0
    this.forEachRange((start, end) => {
      for (let position = start; position < end; position++) positions[at++] = position
    })
    return positions
  }
}

function unionOf(chunks: readonly BitmapChunk[]): Container {
  const isIn = new Uint8Array(CHUNK_SIZE)
  for (const { container } of chunks) forEachContainerRange(container, (start, end) => isIn.fill(1, start, end))
  const values = new Uint16Array(CHUNK_SIZE)
  let used = 0
  for (let value = 0; value < CHUNK_SIZE; value += 1) if (isIn[value] === 1) values[used++] = value
  return containerOf(values.slice(0, used))
}

function requirePosition(position: number): void {
  if (Number.isSafeInteger(position) && position >= 0) return
  throw new IcebergError('INVALID_ARGUMENT', `${position} is not a row position (0 to 2^53-1)`)
}
