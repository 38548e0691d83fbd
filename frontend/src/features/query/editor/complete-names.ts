import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { keywordCompletionSource, PostgreSQL } from '@codemirror/lang-sql'
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
/** The last level: plain, in quotes, or with the first quote only. */
const WORD = String.raw`"[\p{L}\p{N}_$:-]+"|"[\p{L}\p{N}_$:-]*|[\p{L}\p{N}_$]+(?::[\p{L}\p{N}_$]*)?|`
const BEFORE = new RegExp(String.raw`(?:(${LEVEL}(?:\.${LEVEL})*)\.)?(${WORD})$`, 'u')

/**
 * Offers tables, and columns of the tables that the query names; after `name.` only the columns of that one.
 * The options follow the typed text at once, as long as the columns that they need are read: an option that is
 * clicked while CodeMirror waits for a source has no effect.
 */
export async function completeNames(context: CompletionContext): Promise<CompletionResult | null> {
  const typed = typedBefore(context)
  if (typed.text === '' && !context.explicit) return null
  const tables = await tableNames()
  const called = tablesCalled(typed.owner, context, tables)
  const columns = await Promise.all(called.map(async (table) => [table, await columnsOf(table)] as const))
  return context.aborted ? null : optionsFor(typed, called, { tables, columns: new Map(columns) })
}

/** Offers keywords. Where none is possible, the list is empty: a source without a list would be waited for after each key. */
export function completeKeywords(context: CompletionContext): CompletionResult | null {
  const { text } = typedBefore(context)
  if (text === '' && !context.explicit) return null
  const found = keywords(context)
  const { from, options } = found === null || found instanceof Promise ? { from: context.pos, options: [] } : found
  return { from, options, update: (...given) => completeKeywords(given[3]) }
}

const keywords = keywordCompletionSource(PostgreSQL, true)

/** What is read of the service. */
interface Names {
  readonly tables: readonly string[]
  /** Columns by table. */
  readonly columns: ReadonlyMap<string, readonly Completion[]>
}

/** The options for the typed text; columns are those of the `called` tables. */
function optionsFor(typed: Typed, called: readonly string[], names: Names): CompletionResult {
  const columns = called.flatMap((table) => names.columns.get(table) ?? [])
  const update: CompletionResult['update'] = (...given) => updated(given[3], names)
  const { owner, word, text, start } = typed
  if (owner !== undefined && columns.length === 0) {
    return { from: start, options: tableOptions(names.tables, text), update }
  }
  const from = start + text.length - word.length
  return { from, options: owner === undefined ? [...columns, ...tableOptions(names.tables, word)] : columns, update }
}

/** The options after further typing; null: they need something that is not read yet. */
function updated(context: CompletionContext, names: Names): CompletionResult | null {
  const typed = typedBefore(context)
  const called = tablesCalled(typed.owner, context, names.tables)
  if (typed.text === '' || called.some((table) => !names.columns.has(table))) return null
  return optionsFor(typed, called, names)
}

interface Typed {
  /** The name before the last dot; undefined: there is no dot. */
  readonly owner: string | undefined
  readonly word: string
  /** The owner, the dot and the word as they are typed. */
  readonly text: string
  readonly start: number
}

function typedBefore(context: CompletionContext): Typed {
  const { text, from: start } = context.matchBefore(BEFORE) ?? { text: '', from: context.pos }
  const [, owner, word = ''] = BEFORE.exec(text) ?? []
  return { owner: owner?.replaceAll('"', ''), word, text, start }
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

async function columnsOf(table: string): Promise<readonly Completion[]> {
  const { columns } = await queryClient
    .fetchQuery({ ...columnsQuery(table), staleTime: FRESH_MS })
    .catch(() => ({ columns: [] }))
  return columns.map((column) => columnOption(table, column))
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
