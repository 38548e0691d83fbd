const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Up to 15 digits always fit a double exactly. */
const MAX_EXACT_DIGITS = 15
/** Longer numbers are left to the parser that limits their length. */
const MAX_LONG_DIGITS = 40
/** Deeper values are left to the parser that counts the levels. */
const MAX_DEPTH = 64

/** A member of an object whose value may need more than 53 bits: the places of its key, without quotes, and of its digits. */
export interface LongInteger {
  readonly keyStart: number
  readonly keyEnd: number
  readonly digitsStart: number
  readonly digitsEnd: number
}

/** What a byte means outside of strings. */
const OTHER = 0
const STRING = 1
const OPENING = 2
const CLOSING = 3
const NUMBER = 4
const SEPARATOR = 5

const KINDS = kindsOfBytes()

function kindsOfBytes(): Uint8Array {
  const kinds = new Uint8Array(256)
  const set = (characters: string, kind: number): void => {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind
  }
  set('"', STRING)
  set('{[', OPENING)
  set('}]', CLOSING)
  set('-0123456789', NUMBER)
  set(',: \t\r\n', SEPARATOR)
  return kinds
}

const IN_NUMBER = 1
const IN_FLOAT = 2
const NUMBER_BYTES = bytesOfNumbers()

function bytesOfNumbers(): Uint8Array {
  const bytes = new Uint8Array(256)
  for (const character of '-0123456789') bytes[character.charCodeAt(0)] = IN_NUMBER
  for (const character of '.eE+') bytes[character.charCodeAt(0)] = IN_FLOAT
  return bytes
}

/**
 * Finds the ends of JSON values in UTF-8 text by their quotes and brackets alone. Whether they are JSON is for the parser of the value to
 * decide: of other text, the end is some position. The fields describe the value that was scanned last.
 */
export class ValueScanner {
  readonly #bytes: Uint8Array
  #at = 0
  #depth = 0
  #keyStart = 0
  #keyEnd = 0

  /** Whether `JSON.parse` reads the value as it is, but for `longIntegers`. */
  isPlain = true
  /** Members of the value itself, not of values in it. */
  longIntegers: LongInteger[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The end of the value that begins at a position. */
  scan(start: number): number {
    this.#at = start
    this.#depth = 0
    this.#keyStart = 0
    this.#keyEnd = 0
    this.isPlain = true
    if (this.longIntegers.length > 0) this.longIntegers = []
    while (this.#at < this.#bytes.length && this.#pass());
    return this.#at
  }

  /** Passes one token; false at the end of the value. */
  #pass(): boolean {
    switch (KINDS[this.#bytes[this.#at] ?? 0]) {
      case STRING:
        this.#passString()
        return this.#depth > 0
      case OPENING:
        this.#at += 1
        this.#depth += 1
        if (this.#depth > MAX_DEPTH) this.isPlain = false
        return true
      case CLOSING:
        if (this.#depth === 0) return false
        this.#at += 1
        this.#depth -= 1
        return this.#depth > 0
      case NUMBER:
        this.#passNumber()
        return this.#depth > 0
      case SEPARATOR:
        if (this.#depth === 0) return false
        this.#at += 1
        return true
      default:
        this.#at += 1
        return true
    }
  }

  /** A string of the value itself may be the key of the number that comes next. */
  #passString(): void {
    const bytes = this.#bytes
    const start = this.#at + 1
    let at = start
    for (let byte = bytes[at]; byte !== QUOTE && byte !== undefined; byte = bytes[at]) at += byte === BACKSLASH ? 2 : 1
    this.#at = at + 1
    this.#keyStart = start
    this.#keyEnd = at
  }

  #passNumber(): void {
    const start = this.#at
    let at = start
    for (let kind = IN_NUMBER; kind !== OTHER; kind = NUMBER_BYTES[this.#bytes[++at] ?? 0] ?? OTHER) {
      if (kind === IN_FLOAT) this.isPlain = false
    }
    this.#at = at
    if (at - start <= MAX_EXACT_DIGITS) return
    if (this.#depth !== 1 || at - start > MAX_LONG_DIGITS) this.isPlain = false
    else this.longIntegers.push({ keyStart: this.#keyStart, keyEnd: this.#keyEnd, digitsStart: start, digitsEnd: at })
  }
}
