import { IcebergError } from '../../iceberg/errors.ts'

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** A literal as it was written: quoted text, or a bare word such as `12.5`, `-3`, `true`. */
export interface WhereLiteral {
  readonly quoted: boolean
  readonly text: string
}

/** One condition of a `where` text on one column. */
export type WhereCondition = { readonly column: string } & (
  | { readonly kind: 'compare'; readonly operator: ComparisonOperator; readonly literal: WhereLiteral }
  | { readonly kind: 'in'; readonly isNegated: boolean; readonly literals: readonly WhereLiteral[] }
  /** Texts that begin with a prefix. */
  | { readonly kind: 'prefix'; readonly isNegated: boolean; readonly prefix: string }
  | { readonly kind: 'null-test'; readonly isNull: boolean }
)

/** A `where` text as a tree; NOT is in the conditions. */
export type WhereTree<Condition> =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly WhereTree<Condition>[] }
  | { readonly kind: 'condition'; readonly condition: Condition }

interface Token {
  readonly kind: 'name' | 'text' | 'number' | 'symbol'
  readonly text: string
  /** A name in quotes, which is never a keyword. */
  readonly isQuoted?: true
}

const TOKEN =
  /\s*(?:'((?:[^']|'')*)'|`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|([A-Za-z_][\w.]*)|(<=|>=|<>|!=|=|<|>|\(|\)|,))/y

/** Parentheses and NOT inside each other. */
const MAX_DEPTH = 100

/**
 * Parses conditions joined by AND, OR, NOT and parentheses: `col = 'x'`, `!=`, `<>`, `<`, `<=`, `>`, `>=`, `[NOT] IN (…)`,
 * `[NOT] BETWEEN x AND y`, `[NOT] LIKE 'x%'`, `IS [NOT] NULL`; text in single quotes, column names with special characters in
 * backticks or double quotes. Anything else (functions, arithmetic) is `INVALID_ARGUMENT` with its position.
 */
export function parseWhere(text: string): WhereTree<WhereCondition> {
  const tokens = new TokenReader(tokenize(text))
  const tree = readAny(tokens, { isNegated: false, depth: 0 })
  if (!tokens.done) throw refused(`expected AND or OR before "${tokens.next('AND').text}"`)
  return tree
}

/** All conditions of a tree, in order. */
export function conditionsOf<Condition>(tree: WhereTree<Condition>): readonly Condition[] {
  return tree.kind === 'condition' ? [tree.condition] : tree.parts.flatMap((part) => conditionsOf(part))
}

/** The same tree over other conditions. */
export function mapConditions<From, To>(tree: WhereTree<From>, map: (condition: From) => To): WhereTree<To> {
  if (tree.kind === 'condition') return { kind: 'condition', condition: map(tree.condition) }
  return { kind: tree.kind, parts: tree.parts.map((part) => mapConditions(part, map)) }
}

interface Place {
  /** Whether an odd number of NOT applies; NULL matches neither a condition nor its negation. */
  readonly isNegated: boolean
  readonly depth: number
}

type Tree = WhereTree<WhereCondition>

function readAny(tokens: TokenReader, place: Place): Tree {
  const parts = [readAll(tokens, place)]
  while (tokens.takeKeyword('OR')) parts.push(readAll(tokens, place))
  return join(place.isNegated ? 'and' : 'or', parts)
}

function readAll(tokens: TokenReader, place: Place): Tree {
  const parts = [readOne(tokens, place)]
  while (tokens.takeKeyword('AND')) parts.push(readOne(tokens, place))
  return join(place.isNegated ? 'or' : 'and', parts)
}

function readOne(tokens: TokenReader, { isNegated, depth }: Place): Tree {
  if (depth > MAX_DEPTH) throw refused(`more than ${MAX_DEPTH} parentheses or NOT inside each other`)
  if (tokens.takeKeyword('NOT')) return readOne(tokens, { isNegated: !isNegated, depth: depth + 1 })
  if (!tokens.takeSymbol('(')) return readCondition(tokens, isNegated)
  const inner = readAny(tokens, { isNegated, depth: depth + 1 })
  tokens.expectSymbol(')')
  return inner
}

function join(kind: 'and' | 'or', parts: readonly Tree[]): Tree {
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only : { kind, parts }
}

function readCondition(tokens: TokenReader, isNegatedOutside: boolean): Tree {
  const name = tokens.next('a column name')
  if (name.kind !== 'name') throw refused(`expected a column name, found "${name.text}"`)
  const column = name.text
  if (tokens.takeKeyword('IS')) {
    const isNull = tokens.takeKeyword('NOT') === isNegatedOutside
    tokens.expectKeyword('NULL')
    return leaf({ kind: 'null-test', column, isNull })
  }
  const isNegated = tokens.takeKeyword('NOT') !== isNegatedOutside
  if (tokens.takeKeyword('IN')) return leaf({ kind: 'in', column, isNegated, literals: readList(tokens) })
  if (tokens.takeKeyword('BETWEEN')) return readBetween(tokens, { column, isNegated })
  if (tokens.takeKeyword('LIKE')) return leaf({ kind: 'prefix', column, isNegated, prefix: readPrefix(tokens) })
  if (isNegated !== isNegatedOutside) throw refused(`expected IN, BETWEEN or LIKE after NOT of column "${column}"`)
  const operator = asOperator(tokens.next('an operator'))
  return comparison(column, isNegated ? OPPOSITES[operator] : operator, readLiteral(tokens))
}

const OPPOSITES: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}

function readBetween(
  tokens: TokenReader,
  { column, isNegated }: { readonly column: string; readonly isNegated: boolean },
): Tree {
  const from = readLiteral(tokens)
  tokens.expectKeyword('AND')
  const to = readLiteral(tokens)
  return isNegated
    ? join('or', [comparison(column, '<', from), comparison(column, '>', to)])
    : join('and', [comparison(column, '>=', from), comparison(column, '<=', to)])
}

/** The text before the only wildcard of a pattern, which is a `%` at its end. */
function readPrefix(tokens: TokenReader): string {
  const { quoted, text } = readLiteral(tokens)
  if (quoted && /^[^%_\\]+%$/.test(text)) return text.slice(0, -1)
  throw refused(`LIKE needs a text that begins the value, followed by one %, such as 'abc%', not '${text}'`)
}

function comparison(column: string, operator: ComparisonOperator, literal: WhereLiteral): Tree {
  return leaf({ kind: 'compare', column, operator, literal })
}

function leaf(condition: WhereCondition): Tree {
  return { kind: 'condition', condition }
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
  if (token.isQuoted) throw refused(`expected a value, found the column "${token.text}"; write text in single quotes`)
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
  if (backticks !== undefined) return { kind: 'name', text: backticks.replaceAll('``', '`'), isQuoted: true }
  if (doubles !== undefined) return { kind: 'name', text: doubles.replaceAll('""', '"'), isQuoted: true }
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
    if (token?.kind !== 'name' || token.isQuoted || token.text.toUpperCase() !== keyword) return false
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
    `where: ${problem}; write conditions on columns, such as started_at >= '2024-01-01' AND (region IN ('a', 'b') OR amount IS NULL)`,
  )
}
