import { type Ability, lastOf } from '../ability.ts'
import type { Token } from '../language/tokens.ts'
import { isFiller, meaningOf } from '../language/words.ts'
import { findTable } from '../names/table-finder.ts'
import type { Question } from '../question.ts'
import { describeProposal } from './maintenance-answers.ts'

/** Names of a column change as a prompt gives them; undefined: it does not give one. */
type Names = Readonly<Record<string, string | undefined>>

interface ColumnChange {
  readonly tool: string
  readonly read: (tokens: readonly Token[], text: string) => Names
  /** An order with all that is needed. */
  readonly example: string
}

/** Proposes a change of a column when the order names the column. */
function changesColumn({ tool, read, example }: ColumnChange): Ability {
  return {
    next(question, seen) {
      const names = read(question.tokens, question.text)
      if (Object.values(names).includes(undefined)) return { say: `I need more for that. Write such as: "${example}".` }
      const found = findTable(withoutColumns(question, names), seen)
      if ('next' in found) return found.next
      const result = lastOf(seen, tool)
      if (result === undefined) return { calls: [{ tool, args: { table: found.table, ...names } }] }
      return { say: describeProposal(found.table, result) }
    },
  }
}

/** The question without the names of columns: `payload.kind` in `drop column payload.kind` is no table. */
function withoutColumns(question: Question, names: Names): Question {
  const columns = Object.values(names).map((name) => name?.toLowerCase())
  const isOther = (name: string): boolean => !columns.includes(name.toLowerCase())
  return {
    ...question,
    tables: question.tables.filter(isOther),
    unknownWords: question.unknownWords.filter(isOther),
  }
}

const CALLED = new Set(['called', 'named', 'name'])
const TO = new Set(['to', 'into', 'as'])

function isColumnWord({ lower }: Token): boolean {
  return meaningOf(lower) === meaningOf('column')
}

/** The name of a column: after the word `column`, else before it. */
function columnName(tokens: readonly Token[]): string | undefined {
  const at = tokens.findIndex(isColumnWord)
  if (at < 0) return undefined
  const after = tokens.slice(at + 1).find(({ lower }) => !CALLED.has(lower))
  if (after !== undefined && isName(after)) return after.raw
  const before = tokens[at - 1]
  return before !== undefined && isName(before) ? before.raw : undefined
}

function isName({ lower, slot }: Token): boolean {
  return (slot === undefined || slot === '{table}') && !isFiller(lower)
}

/** A type with its parameters, such as `decimal(10, 2)`. */
function columnType(tokens: readonly Token[], text: string): string | undefined {
  const type = tokens.find(({ slot }) => slot === '{type}')?.raw
  if (type === undefined) return undefined
  const rest = text.slice(text.indexOf(type) + type.length)
  return `${type.toLowerCase()}${/^\([\d, ]+\)/.exec(rest)?.[0] ?? ''}`
}

function newName(tokens: readonly Token[]): string | undefined {
  const at = tokens.findLastIndex(({ lower }, index) => TO.has(lower) && index < tokens.length - 1)
  return at < 0 ? undefined : tokens[at + 1]?.raw
}

/** The column to rename: after the word `column`, else after `rename`. */
function oldName(tokens: readonly Token[]): string | undefined {
  const named = columnName(tokens)
  if (named !== undefined) return named
  const verb = tokens.findIndex(({ lower }) => meaningOf(lower) === meaningOf('rename'))
  return tokens.slice(verb + 1).find(({ slot, lower }) => slot === undefined && !isFiller(lower))?.raw
}

/** Answers about changes of columns, by tool. */
export const columnAbilities: Readonly<Record<string, Ability>> = {
  add_column: changesColumn({
    tool: 'add_column',
    read: (tokens, text) => ({ name: columnName(tokens), type: columnType(tokens, text) }),
    example: 'add column note string to demo.orders',
  }),
  rename_column: changesColumn({
    tool: 'rename_column',
    read: (tokens) => ({ name: oldName(tokens), new_name: newName(tokens) }),
    example: 'rename column total to amount in demo.orders',
  }),
  drop_column: changesColumn({
    tool: 'drop_column',
    read: (tokens) => ({ name: columnName(tokens) }),
    example: 'drop column note from demo.orders',
  }),
}
