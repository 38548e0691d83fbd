import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { queryClient } from '../../../api/query-client.ts'
import { columnsQuery, tablesQuery } from '../../../api/tables.ts'
import type { Column } from '../../../api/types.ts'
import { isolatedText } from '../../../components/text/visible/visible-text.ts'
import { namedTables, quotedName, quotedTable } from './named-tables.ts'

/** Tables of a query whose columns are read at most. */
const MAX_TABLES = 8
const FRESH_MS = 60_000
/** A level of a name; the first one may begin with a catalog, also without the quotes that SQL needs for it. */
const LEVEL = String.raw`(?:"[^"\n]+"|[\p{L}\p{N}_$]+(?::[\p{L}\p{N}_$]+)?)`
const WORD = String.raw`"[\p{L}\p{N}_$:-]*|[\p{L}\p{N}_$]+(?::[\p{L}\p{N}_$]*)?|`
const BEFORE = new RegExp(String.raw`(?:(${LEVEL}(?:\.${LEVEL})*)\.)?(${WORD})$`, 'u')
const VALID_COLUMN = /^"?[\p{L}\p{N}_$]*$/u
const VALID = /^[\p{L}\p{N}_$.:]*$/u

/** Offers tables, and columns of the tables that the query names; after `name.` only the columns of that one. */
export async function completeNames(context: CompletionContext): Promise<CompletionResult | null> {
  const { owner, word, start } = typedBefore(context)
  if (owner === undefined && word === '' && !context.explicit) return null
  const tables = await tableNames()
  const columns = await columnsOf(tablesCalled(owner, context, tables))
  if (context.aborted) return null
  const wordStart = context.pos - word.length
  if (owner === undefined)
    return { from: wordStart, options: [...columns, ...tableOptions(tables, word)], validFor: VALID }
  if (columns.length > 0) return { from: wordStart, options: columns, validFor: VALID_COLUMN }
  const typed = context.state.sliceDoc(start, context.pos)
  return { from: start, options: tableOptions(tables, typed), validFor: VALID }
}

interface Typed {
  /** The name before the last dot; undefined: there is no dot. */
  readonly owner: string | undefined
  readonly word: string
  readonly start: number
}

function typedBefore(context: CompletionContext): Typed {
  const before = context.matchBefore(BEFORE)
  const [, owner, word = ''] = BEFORE.exec(before?.text ?? '') ?? []
  return { owner: owner?.replaceAll('"', ''), word, start: before?.from ?? context.pos }
}

/** Tables of the query with the name or alias, or all of them; only such that exist. */
function tablesCalled(
  owner: string | undefined,
  context: CompletionContext,
  tables: readonly string[],
): readonly string[] {
  const named = namedTables(context.state.doc.toString()).filter(({ table }) => tables.includes(table))
  const owners = named.filter(({ alias, table }) => owner === undefined || owner === alias || owner === table)
  return [...new Set(owners.map(({ table }) => table))].slice(0, MAX_TABLES)
}

async function tableNames(): Promise<readonly string[]> {
  const { tables } = await queryClient.fetchQuery(tablesQuery).catch(() => ({ tables: [] }))
  return tables.map(({ table }) => table)
}

async function columnsOf(tables: readonly string[]): Promise<readonly Completion[]> {
  const lists = await Promise.all(
    tables.map(async (table) => {
      const schema = await queryClient
        .fetchQuery({ ...columnsQuery(table), staleTime: FRESH_MS })
        .catch(() => ({ columns: [] }))
      return schema.columns.map((column) => columnOption(table, column))
    }),
  )
  return lists.flat()
}

function columnOption(table: string, { name, type }: Column): Completion {
  const apply = quotedName(name)
  return { label: name, displayLabel: isolatedText(name), detail: isolatedText(`${type} · ${table}`), apply, boost: 2 }
}

/** The tables as completions. The text that was typed is compared with labels, so that labels have its quotes. */
function tableOptions(tables: readonly string[], typed: string): readonly Completion[] {
  return tables.map((table) => ({
    label: typed.includes('"') ? quotedAs(typed, table) : table,
    displayLabel: isolatedText(table),
    apply: quotedTable(table),
    boost: 1,
  }))
}

/** The name with quotes around those levels that have them in the typed text. */
function quotedAs(typed: string, table: string): string {
  const isQuoted = typed.split('.').map((level) => level.startsWith('"'))
  return table
    .split('.')
    .map((level, at) => (isQuoted[at] === true ? `"${level.replaceAll('"', '""')}"` : level))
    .join('.')
}
