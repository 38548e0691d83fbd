/** Largest number of values that the portable format stores as a sorted array. */
const ARRAY_LIMIT = 4096
const BITS_WORDS = 2048
/** Bytes of a bitmap container. */
const BITS_BYTES = 8192

/**
 * Up to 65,536 16-bit values of a roaring bitmap, in one of the three forms of the portable format.
 * `runs` has pairs (first value, number of further values). Forms are kept as read, so memory use depends on file size.
 */
export type Container =
  | { readonly kind: 'array'; readonly values: Uint16Array }
  | { readonly kind: 'bits'; readonly words: Uint32Array; readonly cardinality: number }
  | { readonly kind: 'runs'; readonly pairs: Uint16Array; readonly cardinality: number }

/** Number of values in a container. */
export function containerCardinality(container: Container): number {
  return container.kind === 'array' ? container.values.length : container.cardinality
}

/** Chooses the smallest form for strictly ascending values; at equal size a run list, as in other writers. */
export function containerOf(values: Uint16Array): Container {
  const runs = countRuns(values)
  const plainBytes = values.length > ARRAY_LIMIT ? BITS_BYTES : 2 * values.length
  if (2 + 4 * runs < plainBytes) return { kind: 'runs', pairs: toRuns(values, runs), cardinality: values.length }
  if (values.length <= ARRAY_LIMIT) return { kind: 'array', values }
  const words = new Uint32Array(BITS_WORDS)
  for (const value of values) words[value >>> 5] = (words[value >>> 5] ?? 0) | (1 << (value & 31))
  return { kind: 'bits', words, cardinality: values.length }
}

/** Whether a container holds a 16-bit value. */
export function containerHas(container: Container, value: number): boolean {
  if (container.kind === 'bits') return ((container.words[value >>> 5] ?? 0) & (1 << (value & 31))) !== 0
  const stride = container.kind === 'runs' ? 2 : 1
  const list = container.kind === 'runs' ? container.pairs : container.values
  const index = lastNotAbove(list, stride, value)
  if (index < 0) return false
  const start = list[index * stride] ?? 0
  const more = container.kind === 'runs' ? (list[index * 2 + 1] ?? 0) : 0
  return value <= start + more
}

/** Calls `visit` with every maximal stored range [start, end) of a container, ascending. */
export function forEachContainerRange(container: Container, visit: (start: number, end: number) => void): void {
  if (container.kind === 'runs') return forEachRun(container.pairs, visit)
  let start = -1
  let end = -1
  const add = (value: number): void => {
    if (value === end) {
      end += 1
      return
    }
    if (start >= 0) visit(start, end)
    start = value
    end = value + 1
  }
  if (container.kind === 'array') container.values.forEach(add)
  else forEachBit(container.words, add)
  if (start >= 0) visit(start, end)
}

/** Number of set bits in the words of a bitmap container. */
export function popCount(words: Uint32Array): number {
  let total = 0
  for (const word of words) {
    let v = word - ((word >>> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >>> 2) & 0x33333333)
    total += (((v + (v >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24
  }
  return total
}

function forEachRun(pairs: Uint16Array, visit: (start: number, end: number) => void): void {
  for (let i = 0; i < pairs.length; i += 2) {
    const start = pairs[i] ?? 0
    visit(start, start + (pairs[i + 1] ?? 0) + 1)
  }
}

function forEachBit(words: Uint32Array, visit: (value: number) => void): void {
  for (let i = 0; i < words.length; i++) {
    let word = words[i] ?? 0
    while (word !== 0) {
      const low = word & -word
      visit(i * 32 + 31 - Math.clz32(low))
      word ^= low
    }
  }
}

function countRuns(values: Uint16Array): number {
  let runs = 0
  let next = -1
  for (const value of values) {
    if (value !== next) runs += 1
    next = value + 1
  }
  return runs
}

function toRuns(values: Uint16Array, runs: number): Uint16Array {
  const pairs = new Uint16Array(runs * 2)
  let at = -2
  let next = -1
  for (const value of values) {
    if (value === next) pairs[at + 1] = (pairs[at + 1] ?? 0) + 1
    else {
      at += 2
      pairs[at] = value
    }
    next = value + 1
  }
  return pairs
}

/** Index of the last element (of `stride` numbers each) whose first number is not above `value`, or -1. */
function lastNotAbove(list: Uint16Array, stride: number, value: number): number {
  let low = 0
  let high = list.length / stride
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle * stride] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
