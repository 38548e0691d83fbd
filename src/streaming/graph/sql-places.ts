/**
 * Where a mark stands in SQL: where a value may stand; in a string, a quoted name, dollar-quoted text or a comment; next
 * to a word or a quote; or where it cannot be told.
 */
export type SqlPlace = 'value' | 'string' | 'name' | 'dollar-quoted' | 'comment' | 'adjacent' | 'unclear'

/** Marks a place in SQL text. DuckDB refuses SQL that contains it. */
export const MARK = '\0'

const WORD_START = /[A-Za-z_\u0080-\uffff]/
const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const NUMBER = /(?:0[xX][0-9a-fA-F_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)/y
const AFTER_NUMBER = /[A-Za-z0-9_$'\u0080-\uffff]/
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
const LINE_COMMENT = /--[^\n\r]*/y
const BLANK = /(?:[ \t\n\r\f\v]+|--[^\n\r]*)*/y
const NOT_ASCII = /[\u0080-\uffff]/
/** DuckDB reads such characters as spaces, but not everywhere. */
const UNICODE_SPACE = /[\p{White_Space}\p{Cf}]/u
const BEFORE_VALUE = /[A-Za-z0-9_$'".#&\0\u0080-\uffff]/
const AFTER_VALUE = /[A-Za-z0-9_$'".\0\u0080-\uffff]/

/**
 * The place of each {@link MARK} in SQL, in order, by the lexical rules of DuckDB: `''` and `E''` strings, quoted names,
 * `$tag$` text, line comments and nested block comments, each up to the end of the text when it is not closed.
 */
export function sqlPlaces(sql: string): readonly SqlPlace[] {
  const scanner = new SqlScanner(sql)
  scanner.run()
  return scanner.places
}

class SqlScanner {
  readonly places: SqlPlace[] = []
  readonly #sql: string
  #at = 0
  #isUnclear = false

  constructor(sql: string) {
    this.#sql = sql
  }

  run(): void {
    while (this.#at < this.#sql.length) this.#token(this.#sql.charAt(this.#at))
  }

  #token(char: string): void {
    const next = this.#sql.charAt(this.#at + 1)
    if (char === MARK) this.#value()
    else if (char === "'" || char === '"') this.#quoted(char, char === '"' ? 'name' : 'string')
    else if (char === '-' && next === '-') this.#skip(this.#match(LINE_COMMENT).length, 'comment')
    else if (char === '/' && next === '*') this.#blockComment()
    else if (char === '$') this.#dollar()
    else if (WORD_START.test(char)) this.#word()
    else this.#numberOrSign()
  }

  #value(): void {
    const before = this.#sql.charAt(this.#at - 1)
    const after = this.#sql.charAt(this.#at + 1)
    const isAdjacent = BEFORE_VALUE.test(before) || AFTER_VALUE.test(after)
    this.places.push(this.#isUnclear ? 'unclear' : isAdjacent ? 'adjacent' : 'value')
    this.#at += 1
  }

  /** Text in quotes; a doubled quote stands for one. */
  #quoted(quote: string, place: SqlPlace): void {
    this.#at += 1
    while (this.#at < this.#sql.length) {
      const isQuote = this.#sql.charAt(this.#at) === quote
      const isDoubled = isQuote && this.#sql.charAt(this.#at + 1) === quote
      this.#skip(isDoubled ? 2 : 1, place)
      if (isQuote && !isDoubled) return
    }
  }

  /** An `E''` string: a backslash takes the meaning of the next character. */
  #escaped(): void {
    this.#at += 1
    while (this.#at < this.#sql.length) {
      const char = this.#sql.charAt(this.#at)
      const isPair = char === '\\' || (char === "'" && this.#sql.charAt(this.#at + 1) === "'")
      this.#skip(isPair ? 2 : 1, 'string')
      if (char === "'" && !isPair) break
    }
    // A string on the next line continues this one, backslashes included.
    const continues = this.#sql.charAt(this.#at + this.#match(BLANK).length) === "'"
    if (continues) this.#isUnclear = true
  }

  #blockComment(): void {
    let depth = 0
    do {
      const pair = this.#sql.slice(this.#at, this.#at + 2)
      if (pair === '/*') depth += 1
      if (pair === '*/') depth -= 1
      this.#skip(pair === '/*' || pair === '*/' ? 2 : 1, 'comment')
    } while (depth > 0 && this.#at < this.#sql.length)
  }

  #dollar(): void {
    const tag = this.#match(DOLLAR_TAG)
    if (tag === '') {
      this.#at += 1
      return
    }
    if (NOT_ASCII.test(tag)) this.#isUnclear = true
    const end = this.#sql.indexOf(tag, this.#at + tag.length)
    this.#skip((end < 0 ? this.#sql.length : end + tag.length) - this.#at, 'dollar-quoted')
  }

  #word(): void {
    const word = this.#match(WORD)
    this.#at += word.length
    if (UNICODE_SPACE.test(word)) this.#isUnclear = true
    if (this.#sql.charAt(this.#at) !== "'") return
    if (NOT_ASCII.test(word)) this.#isUnclear = true
    if (word.toLowerCase() === 'e') this.#escaped()
    else this.#quoted("'", 'string')
  }

  #numberOrSign(): void {
    if (this.#match(NUMBER) === '') this.#at += 1
    else this.#number()
  }

  /** A number that a word or a quote follows without a space is read differently by different versions. */
  #number(): void {
    this.#at += this.#match(NUMBER).length
    if (AFTER_NUMBER.test(this.#sql.charAt(this.#at))) this.#isUnclear = true
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#sql)?.[0] ?? ''
  }

  #skip(length: number, place: SqlPlace): void {
    const end = Math.min(this.#at + length, this.#sql.length)
    for (; this.#at < end; this.#at++) if (this.#sql.charAt(this.#at) === MARK) this.places.push(place)
  }
}
