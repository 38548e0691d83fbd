import type { QueryAnswer } from '../../api/types.ts'

/** Rows as CSV (RFC 4180); NULL is empty, and an empty text has quotes. */
export function csvOf({ columns, rows }: Pick<QueryAnswer, 'columns' | 'rows'>): string {
  const lines = [columns.map(({ name }) => cell(name)), ...rows.map((row) => row.map(cell))]
  return lines.map((line) => `${line.join(',')}\r\n`).join('')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
