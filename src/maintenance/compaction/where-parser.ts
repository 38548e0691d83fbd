import { IcebergError } from '../../iceberg/errors.ts'

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** A literal as it was written: quoted text, or a bare word such as `12.5`, `-3`, `true`. */
export interface WhereLiteral {
  readonly quoted: boolean
  readonly text: string
}

/** One condition of a `where` text. */
export type WhereCondition =
  | {
      readonly kind: 'compare'
      readonly column: string
      readonly operator: ComparisonOperator
      readonly literal: WhereLiteral
    }
  | { readonly kind: 'in'; readonly column: string; readonly literals: readonly WhereLiteral[] }
  | { readonly kind: 'null-test'; readonly column: string; readonly isNull: boolean }

interface Token {
  readonly kind: 'name' | 'text' | 'number' | 'symbol'
  readonly text: string
}

const TOKEN =
  /\s*(?:'((?:[^']|'')*)'|`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|([A-Za-z_][\w.]*)|(<=|>=|<>|!=|=|<|>|\(|\)|,))/y

/**
 * Parses conditions joined by AND: `col = 'x'`, `!=`, `<>`, `<`, `<=`, `>`, `>=`, `IN (…)`, `IS [NOT] NULL`;
 * text in single quotes, column names with special characters in backticks or double quotes.
 * Anything else (OR, NOT, functions, arithmetic) is `INVALID_ARGUMENT` with its position.
 */
export function parseWhere(text: string): readonly WhereCondition[] {
  const tokens = new TokenReader(tokenize(text))
  const conditions = [readCondition(tokens)]
  while (!tokens.done) {
    tokens.expectKeyword('AND')
    conditions.push(readCondition(tokens))
  }
  return conditions
}

function readCondition(tokens: TokenReader): WhereCondition {
  const column = tokens.next('a column name')
  if (column.kind !== 'name') throw refused(`expected a column name, found "${column.text}"`)
  if (tokens.takeKeyword('IS')) {
    const isNull = !tokens.takeKeyword('NOT')
    tokens.expectKeyword('NULL')
    return { kind: 'null-test', column: column.text, isNull }
  }
  if (tokens.takeKeyword('IN')) return { kind: 'in', column: column.text, literals: readList(tokens) }
  const operator = asOperator(tokens.next('an operator'))
  return { kind: 'compare', column: column.text, operator, literal: readLiteral(tokens) }
}

function readList(tokens: TokenReader): WhereLiteral[] {
  tokens.expectSymbol('(')
  const literals = [readLiteral(tokens)]
  while (tokens.takeSymbol(',')) literals.push(readLiteral(tokens))
  tokens.expectSymbol(')')
  return literals
}

function readLiteral(tokens: TokenReader): WhereLiteral {
  const token = tokens.next('a value')
  if (token.kind === 'text') return { quoted: true, text: token.text }
  if (token.kind === 'number') return { quoted: false, text: token.text }
  if (/^(date|timestamp)$/i.test(token.text) && tokens.peekKind() === 'text') return readLiteral(tokens)
  if (/^(true|false)$/i.test(token.text)) return { quoted: false, text: token.text.toLowerCase() }
  throw refused(`expected a value, found "${token.text}"; write text in single quotes`)
}

function asOperator(token: Token): ComparisonOperator {
  switch (token.text) {
    case '<>':
      return '!='
    case '=':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return token.text
    default:
      throw refused(`expected an operator, found "${token.text}"`)
  }
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < end) {
    const start = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (match === null) throw refused(`cannot read it from "${text.slice(start, start + 20).trim()}"`)
    tokens.push(toToken(match))
  }
  return tokens
}

function toToken([, quoted, backticks, doubles, number, word, symbol]: RegExpExecArray): Token {
  if (quoted !== undefined) return { kind: 'text', text: quoted.replaceAll("''", "'") }
  if (backticks !== undefined) return { kind: 'name', text: backticks.replaceAll('``', '`') }
  if (doubles !== undefined) return { kind: 'name', text: doubles.replaceAll('""', '"') }
  if (number !== undefined) return { kind: 'number', text: number }
  if (word !== undefined) return { kind: 'name', text: word }
  return { kind: 'symbol', text: symbol ?? '' }
}

class TokenReader {
  readonly #tokens: readonly Token[]
  #position = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get done(): boolean {
    return this.#position >= this.#tokens.length
  }

  next(wanted: string): Token {
    const token = this.#tokens[this.#position]
    if (token === undefined) throw refused(`expected ${wanted}, found the end`)
    this.#position += 1
    return token
  }

  peekKind(): Token['kind'] | undefined {
    return this.#tokens[this.#position]?.kind
  }

  takeKeyword(keyword: string): boolean {
    const token = this.#tokens[this.#position]
    if (token?.kind !== 'name' || token.text.toUpperCase() !== keyword) return false
    this.#position += 1
    return true
  }

  expectKeyword(keyword: string): void {
    if (!this.takeKeyword(keyword)) throw refused(`expected ${keyword} before "${this.next(keyword).text}"`)
  }

  takeSymbol(symbol: string): boolean {
    const token = this.#tokens[this.#position]
    if (token?.kind !== 'symbol' || token.text !== symbol) return false
    this.#position += 1
    return true
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw refused(`expected "${symbol}" before "${this.next(`"${symbol}"`).text}"`)
  }
}

function refused(problem: string): IcebergError {
  return new IcebergError(
    'INVALID_ARGUMENT',
    `where: ${problem}; join conditions on columns that the table is partitioned by with AND, such as started_at >= '2024-01-01' AND region IN ('a', 'b')`,
  )
}
