import { count, plural } from '../../../lib/text.ts'
import { type Ability, lastOf, type SeenCall } from '../ability.ts'
import { numberNamed } from '../language/tokens.ts'
import { findTable } from '../names/table-finder.ts'
import type { Question } from '../question.ts'
import type { JsonView } from '../json-view.ts'
import { problem, quoted } from '../text.ts'

const SQL = /\bselect\b[\s\S]+\bfrom\s+["`]?([\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*)["`]?/iu

/** Whether a text contains a SELECT over a table. */
export function hasSql(text: string): boolean {
  return SQL.test(text)
}

/** A question that needs a computation: the assistant cannot write the SQL, but shows an example of it. */
export const computeAbility: Ability = {
  next(question, seen) {
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    const { table } = found
    const schema = lastOf(seen, 'get_schema')
    if (schema === undefined) return { calls: [{ tool: 'get_schema', args: { table } }] }
    if (schema.error !== undefined) return { say: `I cannot read ${quoted(table)}: ${problem(schema.error)}` }
    const columns = schema.data.at('columns').list()
    const names = columns.map((column) => quoted(column.at('path').text())).join(', ')
    const numeric = columns.find((column) => /^(int|long|float|double|decimal)/.test(column.at('type').text()))
    const example = `select avg(${numeric?.at('path').text() ?? '…'}) from ${table}`
    return {
      say: `I cannot write SQL for this question, but I can run SQL over one table: write one SELECT, such as ${quoted(example)}. The columns of ${quoted(table)} are ${names}.`,
    }
  },
}

/** Rows of a table: their number, a sample, or the result of a query. */
const rowAbility: Ability = {
  next(question, seen) {
    const found = findTable(question, seen)
    if ('next' in found) return found.next
    const { table } = found
    const result = lastOf(seen, 'query_table')
    if (result === undefined) return { calls: [{ tool: 'query_table', args: { table, ...queryFor(question, table) } }] }
    return { say: describeRows(table, result, isCount(question)) }
  },
}

function isCount(question: Question): boolean {
  return question.has('count') && !hasSql(question.text)
}

/** The number before `rows`, or the only number. */
function rowsWanted({ tokens }: Question): number | undefined {
  return tokens.map(numberNamed).find((value) => value !== undefined)
}

/** Answers about rows, by tool. */
export const rowAbilities: Readonly<Record<string, Ability>> = { query_table: rowAbility }

const DEFAULT_ROWS = 10
const MAX_ROWS = 20

function queryFor(question: Question, table: string): { readonly sql: string; readonly max_rows: number } {
  const name = table.slice(table.lastIndexOf('.') + 1)
  const relation = /^[A-Za-z_]\w*$/.test(name) ? `"${name}"` : 't'
  const { text } = question
  if (hasSql(text)) {
    const start = text.toLowerCase().indexOf('select')
    // In the tool's SQL, the table is named by the last part of its name.
    const sql = text.slice(start).replaceAll(table, relation).replaceAll('`', '"')
    return { sql: sql.replace(/[\s?;`]+$/, ''), max_rows: MAX_ROWS }
  }
  if (isCount(question)) return { sql: `SELECT count(*) AS "rows" FROM ${relation}`, max_rows: 1 }
  const wanted = Math.min(rowsWanted(question) ?? DEFAULT_ROWS, MAX_ROWS)
  return { sql: `SELECT * FROM ${relation} LIMIT ${Math.max(1, wanted)}`, max_rows: MAX_ROWS }
}

function describeRows(table: string, { data, error, truncated }: SeenCall, isOnlyCount: boolean): string {
  if (error !== undefined) return `I cannot read ${quoted(table)}: ${problem(error)}`
  const rows = data.at('rows').list()
  if (isOnlyCount) return `${quoted(table)} has ${plural(Number(rows[0]?.list()[0]?.text() ?? 0), 'row')}.`
  const names = data
    .at('columns')
    .list()
    .map((column) => column.at('name').text())
  if (rows.length === 0) return `The result has no rows. Its columns are ${names.map(quoted).join(', ')}.`
  const head = `${truncated ? 'The first ' : ''}${count(rows.length)} row${rows.length === 1 ? '' : 's'} of ${quoted(table)}:`
  const lines = [
    row(names),
    `|${names.map(() => '---').join('|')}|`,
    ...rows.map((cells) => row(cells.list().map(cell))),
  ]
  return `${head}\n\n${lines.join('\n')}`
}

function row(cells: readonly string[]): string {
  const safe = cells.map((text) =>
    text
      .replaceAll(/[\p{Cc}\p{Cf}|`[\]<>\\]+/gu, ' ')
      .slice(0, 60)
      .toWellFormed(),
  )
  return `| ${safe.join(' | ')} |`
}

function cell(view: JsonView): string {
  return view.exists ? view.text() || '…' : 'null'
}
