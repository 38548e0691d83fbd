import { IcebergError } from '../errors.ts'
import { isJsonObject } from './json-fields.ts'
import { JsonParser } from './json-parser.ts'
import type { JsonObject, JsonValue } from './json-value.ts'
import { ValueScanner } from './value-scanner.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
/** White space (RFC 8259, section 2). */
const SPACES: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09])

/** Thrown and caught here: the document is left to the other parser, which has the words for what is wrong. */
class UnexpectedByteError extends Error {}

/**
 * Parses a large document piece by piece: an object whose members are, for the greatest part, lists of many objects, as table metadata
 * with many snapshots. Each element is decoded and parsed alone, by the runtime's own parser. So the document is never a string as a
 * whole, and takes a third of the memory and two thirds of the time. The value is the same as that of `JsonParser` for the whole text.
 * Undefined for what is not such a document, or is not JSON.
 */
export function parseDocument(bytes: Uint8Array, maxDepth: number): JsonObject | undefined {
  try {
    return new DocumentParser(bytes, maxDepth).parse()
  } catch (error) {
    // A piece that is refused has a place in the piece, not in the document.
    if (error instanceof UnexpectedByteError || error instanceof SyntaxError || error instanceof TypeError)
      return undefined
    if (error instanceof IcebergError) return undefined
    throw error
  }
}

class DocumentParser {
  readonly #bytes: Uint8Array
  readonly #maxDepth: number
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  readonly #scanner: ValueScanner
  #at = 0

  constructor(bytes: Uint8Array, maxDepth: number) {
    this.#bytes = bytes
    this.#scanner = new ValueScanner(bytes)
    this.#maxDepth = maxDepth
  }

  parse(): JsonObject {
    const document: JsonObject = {}
    this.#skipSpace()
    this.#require(OPEN_BRACE)
    do {
      this.#skipSpace()
      const key = this.#key()
      this.#skipSpace()
      this.#require(COLON)
      this.#skipSpace()
      const value = this.#bytes[this.#at] === OPEN_BRACKET ? this.#list() : this.#value(1)
      Object.defineProperty(document, key, { value, enumerable: true, configurable: true, writable: true })
      this.#skipSpace()
    } while (this.#take(COMMA))
    this.#require(CLOSE_BRACE)
    this.#skipSpace()
    if (this.#at !== this.#bytes.length) throw new UnexpectedByteError()
    return document
  }

  #key(): string {
    const key = this.#bytes[this.#at] === QUOTE ? this.#value(1) : undefined
    if (typeof key !== 'string') throw new UnexpectedByteError()
    return key
  }

  #list(): JsonValue[] {
    const list: JsonValue[] = []
    this.#require(OPEN_BRACKET)
    this.#skipSpace()
    if (this.#take(CLOSE_BRACKET)) return list
    do {
      this.#skipSpace()
      list.push(this.#value(2))
      this.#skipSpace()
    } while (this.#take(COMMA))
    this.#require(CLOSE_BRACKET)
    return list
  }

  /** The value at the position, which is inside of so many lists and objects. */
  #value(depth: number): JsonValue {
    const start = this.#at
    this.#at = this.#scanner.scan(start)
    const text = this.#text(start, this.#at)
    if (!this.#scanner.isPlain) {
      return new JsonParser(text, { maxDepth: this.#maxDepth - depth, refusesRepeats: false }).parse()
    }
    const value: JsonValue = JSON.parse(text)
    const isAscii = text.length === this.#at - start
    for (const { keyStart, keyEnd, digitsStart, digitsEnd } of this.#scanner.longIntegers) {
      const key = isAscii ? text.slice(keyStart - start, keyEnd - start) : this.#text(keyStart, keyEnd)
      const digits = isAscii ? text.slice(digitsStart - start, digitsEnd - start) : this.#text(digitsStart, digitsEnd)
      restore(value, key, digits)
    }
    return value
  }

  #text(start: number, end: number): string {
    return this.#decoder.decode(this.#bytes.subarray(start, end))
  }

  #skipSpace(): void {
    while (SPACES.has(this.#bytes[this.#at] ?? 0)) this.#at += 1
  }

  #take(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false
    this.#at += 1
    return true
  }

  #require(byte: number): void {
    if (!this.#take(byte)) throw new UnexpectedByteError()
  }
}

/** Gives a member its exact value, which the runtime rounds. */
function restore(value: JsonValue, key: string, digits: string): void {
  const rounded = Number(digits)
  // not for a key with escapes, an element of a list, or a member that is there twice
  if (!isJsonObject(value) || !Object.hasOwn(value, key) || value[key] !== rounded) throw new UnexpectedByteError()
  if (!Number.isSafeInteger(rounded)) value[key] = BigInt(digits)
}
