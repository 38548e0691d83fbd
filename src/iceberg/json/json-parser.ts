import { IcebergError } from '../errors.ts'
import { JsonFloat } from './json-float.ts'
import type { JsonObject, JsonValue } from './json-value.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Up to 15 digits always fit a double exactly; longer numbers need a check. */
const MAX_EXACT_DIGITS = 15
/** No 64-bit or decimal(38) value needs more; the limit prevents quadratic time on hostile input. */
const MAX_INTEGER_DIGITS = 1000

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y

/** What a parser refuses besides text that is not JSON. */
export interface ParserRules {
  readonly maxDepth: number
  /** Whether an object with two members of one name is refused; otherwise, the last of them counts. */
  readonly refusesRepeats: boolean
}

/** A strict recursive-descent JSON parser that keeps integers exact; used through `parseJson`. */
export class JsonParser {
  readonly #text: string
  readonly #maxDepth: number
  readonly #refusesRepeats: boolean
  #pos = 0
  #depth = 0

  constructor(text: string, { maxDepth, refusesRepeats }: ParserRules) {
    this.#text = text
    this.#maxDepth = maxDepth
    this.#refusesRepeats = refusesRepeats
  }

  /** Parses the whole text as one value. */
  parse(): JsonValue {
    this.#skipSpace()
    const value = this.#value()
    this.#skipSpace()
    if (this.#pos < this.#text.length) throw this.#broken('unexpected text after the document')
    return value
  }

  #value(): JsonValue {
    const code = this.#text.charCodeAt(this.#pos)
    switch (code) {
      case QUOTE:
        return this.#string('value')
      case OPEN_BRACE:
        return this.#nested(() => this.#object())
      case OPEN_BRACKET:
        return this.#nested(() => this.#array())
      default:
        return code === MINUS || (code >= ZERO && code <= NINE) ? this.#number() : this.#literal()
    }
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > this.#maxDepth) throw this.#broken(`nesting deeper than ${this.#maxDepth} levels`)
    const value = parse()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const object: JsonObject = {}
    this.#pos++
    this.#skipSpace()
    if (this.#take(CLOSE_BRACE)) return object
    do {
      this.#skipSpace()
      if (this.#text.charCodeAt(this.#pos) !== QUOTE) throw this.#broken('expected a key in quotes')
      const key = this.#string('key')
      this.#skipSpace()
      if (!this.#take(COLON)) throw this.#broken('expected ":"')
      this.#skipSpace()
      if (this.#refusesRepeats && Object.hasOwn(object, key))
        throw this.#broken(`the member ${shown(key)} is there twice`)
      setMember(object, key, this.#value())
      this.#skipSpace()
    } while (this.#take(COMMA))
    if (!this.#take(CLOSE_BRACE)) throw this.#broken('expected "," or "}"')
    return object
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = []
    this.#pos++
    this.#skipSpace()
    if (this.#take(CLOSE_BRACKET)) return array
    do {
      this.#skipSpace()
      array.push(this.#value())
      this.#skipSpace()
    } while (this.#take(COMMA))
    if (!this.#take(CLOSE_BRACKET)) throw this.#broken('expected "," or "]"')
    return array
  }

  /** A value is a copy, because a slice would keep the whole document while a cache has one location of the document. */
  #string(use: 'key' | 'value'): string {
    const start = this.#pos + 1
    let pos = start
    let escaped = false
    for (;;) {
      const code = this.#text.charCodeAt(pos)
      if (code === QUOTE) break
      if (!(code >= 0x20)) throw this.#broken('string is not closed or contains a raw control character', pos)
      if (code === BACKSLASH) {
        escaped = true
        pos++
      }
      pos++
    }
    this.#pos = pos + 1
    return escaped || use === 'value' ? this.#copy(start, pos) : this.#text.slice(start, pos)
  }

  /** The string between the quotes, without its escapes and in memory of its own. */
  #copy(start: number, end: number): string {
    try {
      const value: unknown = JSON.parse(this.#text.slice(start - 1, end + 1))
      return String(value)
    } catch {
      throw this.#broken('string contains an unknown escape', start)
    }
  }

  #number(): number | bigint | JsonFloat {
    NUMBER.lastIndex = this.#pos
    const match = NUMBER.exec(this.#text)
    if (match === null) throw this.#broken('expected digits')
    const [token, fraction, exponent] = match
    const value = Number(token)
    if (!Number.isFinite(value)) throw this.#broken('number is out of range')
    if (token.length > MAX_INTEGER_DIGITS) throw this.#broken('number has too many digits')
    this.#pos += token.length
    if (fraction !== undefined || exponent !== undefined) return Number.isInteger(value) ? new JsonFloat(value) : value
    return token.length <= MAX_EXACT_DIGITS || Number.isSafeInteger(value) ? value : BigInt(token)
  }

  #literal(): boolean | null {
    if (this.#text.startsWith('true', this.#pos)) return this.#passLiteral(4, true)
    if (this.#text.startsWith('false', this.#pos)) return this.#passLiteral(5, false)
    if (this.#text.startsWith('null', this.#pos)) return this.#passLiteral(4, null)
    throw this.#broken(this.#pos >= this.#text.length ? 'the text ends too early' : 'expected a value')
  }

  #passLiteral<T>(length: number, value: T): T {
    this.#pos += length
    return value
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#pos) !== code) return false
    this.#pos++
    return true
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#pos)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#pos++
    }
  }

  #broken(what: string, at = this.#pos): IcebergError {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    return new IcebergError('CORRUPT_FILE', `Not valid JSON at line ${line}, column ${column}: ${what}.`)
  }
}

function shown(key: string): string {
  return JSON.stringify(key.slice(0, 100))
}

function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    // Plain assignment would change the prototype instead of adding a member.
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    object[key] = value
  }
}
