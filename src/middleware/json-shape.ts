import { giveTurn } from '../lib/turns.ts'

/** How large and deep a JSON document may be, whatever its values. */
export interface JsonShape {
  readonly maxDepth: number
  /** Members and elements of the whole document. */
  readonly maxValues: number
  /** Members of one object, or elements of one array. */
  readonly maxValuesInOne: number
}

/** Why a document is refused; begins with a verb. */
export class JsonShapeError extends Error {
  override readonly name = 'JsonShapeError'
}

/** Bytes that are counted without a pause: a few milliseconds. */
const BYTES_PER_TURN = 2 ** 20

/** Refuses (`JsonShapeError`) bytes with more levels or values. Text that is not JSON passes here and fails later. */
export function checkJsonShape(bytes: Uint8Array, shape: JsonShape): void {
  new ShapeCounter(shape).count(bytes, bytes.length)
}

/** The same for long documents: other requests are served meanwhile. */
export async function checkLongJsonShape(bytes: Uint8Array, shape: JsonShape): Promise<void> {
  const counter = new ShapeCounter(shape)
  for (let end = BYTES_PER_TURN; end < bytes.length; end += BYTES_PER_TURN) {
    counter.count(bytes, end)
    await giveTurn()
  }
  counter.count(bytes, bytes.length)
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts levels and values in one pass over the bytes. */
class ShapeCounter {
  readonly #shape: JsonShape
  /** Values so far of each object and array that is open. */
  readonly #counts: number[] = []
  #total = 0
  #at = 0
  #isInString = false

  constructor(shape: JsonShape) {
    this.#shape = shape
  }

  /** Goes on to the byte before `end`. */
  count(bytes: Uint8Array, end: number): void {
    for (; this.#at < end; this.#at++) {
      const byte = bytes[this.#at]
      if (this.#isInString) this.#passInString(byte)
      else this.#passToken(byte)
    }
  }

  #passInString(byte: number | undefined): void {
    if (byte === BACKSLASH) this.#at += 1
    else if (byte === QUOTE) this.#isInString = false
  }

  #passToken(byte: number | undefined): void {
    if (byte === QUOTE) this.#isInString = true
    else if (byte === COMMA) this.#add((this.#counts.pop() ?? 1) + 1)
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#open()
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#counts.pop()
  }

  #open(): void {
    this.#add(1)
    const { maxDepth } = this.#shape
    if (this.#counts.length > maxDepth) throw new JsonShapeError(`is nested deeper than ${maxDepth} levels`)
  }

  #add(count: number): void {
    const { maxValues, maxValuesInOne } = this.#shape
    this.#counts.push(count)
    this.#total += 1
    if (count > maxValuesInOne) {
      throw new JsonShapeError(`has an object or array with more than ${maxValuesInOne} values`)
    }
    if (this.#total > maxValues) throw new JsonShapeError(`has more than ${maxValues} values`)
  }
}
