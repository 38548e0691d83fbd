import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { queryClient } from '../../../api/query-client.ts'
import { columnsQuery, tablesQuery } from '../../../api/tables.ts'
import type { Column } from '../../../api/types.ts'
import { isolatedText } from '../../../components/text/visible/visible-text.ts'
import { namedTables, quotedName, quotedTable } from './named-tables.ts'

/** Tables of a query whose columns are read at most. */
const MAX_TABLES = 8
const FRESH_MS = 60_000
const BEFORE = /(?:([\p{L}\p{N}_$".]*)\.)?("?[\p{L}\p{N}_$]*)$/u
const VALID = /^"?[\p{L}\p{N}_$.]*$/u

/** Offers tables, and columns of the tables that the query names; after `name.` only the columns of that one. */
export async function completeNames(context: CompletionContext): Promise<CompletionResult | null> {
  const before = context.matchBefore(BEFORE)
  const [, owner, word = ''] = BEFORE.exec(before?.text ?? '') ?? []
  if (owner === undefined && word === '' && !context.explicit) return null
  const tables = await tableNames()
  const named = namedTables(context.state.doc.toString()).filter(({ table }) => tables.includes(table))
  const isOf = owner?.replaceAll('"', '')
  const owners = named.filter(({ alias, table }) => isOf === undefined || isOf === alias || isOf === table)
  const columns = await columnsOf([...new Set(owners.map(({ table }) => table))].slice(0, MAX_TABLES))
  if (context.aborted) return null
  if (isOf !== undefined && columns.length > 0) {
    return { from: context.pos - word.length, options: columns, validFor: /^"?[\p{L}\p{N}_$]*$/u }
  }
  const from = isOf === undefined ? context.pos - word.length : (before?.from ?? context.pos)
  return { from, options: [...columns, ...tables.map(tableOption)], validFor: VALID }
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

function tableOption(table: string): Completion {
  return { label: table, displayLabel: isolatedText(table), apply: quotedTable(table), boost: 1 }
}
