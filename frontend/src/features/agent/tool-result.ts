import { formatFigure } from '../operations/format-figure.ts'
import { kindOf } from '../operations/result-figures.ts'

/** A tool result as a table: the list of similar objects in it. */
export interface ResultTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultCell[])[]
}

export interface ResultCell {
  readonly text: string
  readonly isNumber: boolean
}

/** The unwrapped result of a tool. */
export interface ToolResult {
  readonly data: unknown
  readonly isTruncated: boolean
  /** Error of the call; undefined if it succeeded. */
  readonly error: string | undefined
  readonly table: ResultTable | undefined
}

const MAX_COLUMNS = 8

/** Parses the JSON of a tool result; other text is shown unchanged. */
export function readToolResult(json: string): ToolResult {
  const parsed = parseJson(json)
  const isWrapped = isRecord(parsed) && 'data' in parsed && 'untrusted' in parsed
  const data = isWrapped ? parsed['data'] : parsed
  const isTruncated = isRecord(parsed) && parsed['truncated'] === true
  return { data, isTruncated, error: errorOf(parsed) ?? errorOf(data), table: tableOf(data) }
}

/** Formatted JSON, or the text itself. */
export function prettyJson(json: string): string {
  const parsed = parseJson(json)
  return typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2)
}

/** What a call is about, for its line: the first text among its arguments. */
export function subjectOf(argumentsJson: string): string {
  const parsed = parseJson(argumentsJson)
  if (!isRecord(parsed)) return ''
  const named = parsed['table'] ?? parsed['name'] ?? Object.values(parsed).find((value) => typeof value === 'string')
  return typeof named === 'string' ? named : ''
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

function errorOf(value: unknown): string | undefined {
  if (!isRecord(value) || !('error' in value) || value['error'] === null) return undefined
  const { error } = value
  if (typeof error === 'string') return error
  if (!isRecord(error)) return undefined
  const words = error['message'] ?? error['detail'] ?? error['code']
  return typeof words === 'string' ? words : JSON.stringify(error)
}

function tableOf(data: unknown): ResultTable | undefined {
  if (isRecord(data)) return sqlTable(data) ?? firstTable(Object.values(data))
  return Array.isArray(data) ? listTable(data) : undefined
}

/** Rows and columns of a query result. */
function sqlTable({ columns, rows }: Readonly<Record<string, unknown>>): ResultTable | undefined {
  if (!Array.isArray(columns) || !Array.isArray(rows) || !rows.every((row) => Array.isArray(row))) return undefined
  const names = columns.map((column: unknown) => cellText(isRecord(column) ? column['name'] : column))
  return { columns: names, rows: rows.map((row: readonly unknown[]) => row.map((value) => toCell(value))) }
}

function firstTable(values: readonly unknown[]): ResultTable | undefined {
  for (const value of values) {
    const table = Array.isArray(value) ? listTable(value) : undefined
    if (table) return table
  }
  return undefined
}

/** A list of objects, by those of their fields that fit into a cell. */
function listTable(items: readonly unknown[]): ResultTable | undefined {
  const records = items.filter(isRecord)
  if (records.length === 0 || records.length < items.length) return undefined
  const fitting = new Set<string>()
  for (const record of records) {
    for (const [key, value] of Object.entries(record)) if (typeof value !== 'object' || value === null) fitting.add(key)
  }
  const columns = [...fitting].slice(0, MAX_COLUMNS)
  if (columns.length === 0) return undefined
  return { columns, rows: records.map((record) => columns.map((column) => toCell(record[column], column))) }
}

/** A cell; numbers get the unit that is in the name of their field. */
function toCell(value: unknown, field?: string): ResultCell {
  if (typeof value !== 'number') return { text: cellText(value), isNumber: false }
  const text = field === undefined ? String(value) : formatFigure(kindOf(field, value), value)
  return { text, isNumber: true }
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
