import type { QueryAnswer } from '../../api/types.ts'
import { saveFile } from '../text/save-file.ts'
import { NUMBERS } from './row-grid.tsx'

/**
 * Rows as CSV (RFC 4180). NULL is empty and an empty text has quotes, also NULL where it would be the whole line. A text that a spreadsheet
 * would run as a formula begins with an apostrophe; numbers keep their sign.
 */
export function csvOf({ columns, rows }: Pick<QueryAnswer, 'columns' | 'rows'>): string {
  const isText = columns.map(({ type }) => !NUMBERS.test(type))
  const lines = [
    columns.map(({ name }) => cell(name, true)),
    ...rows.map((row) =>
      row.length === 1 && row[0] === null ? ['""'] : row.map((value, at) => cell(value, isText[at])),
    ),
  ]
  return lines.map((line) => `${line.join(',')}\r\n`).join('')
}

/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/

function cell(value: unknown, isText = true): string {
  if (value === null || value === undefined) return ''
  const plain = typeof value === 'string' ? value : JSON.stringify(value)
  const text = isText && FORMULA.test(plain) ? `'${plain}` : plain
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Offers rows as a CSV file to save. */
export function downloadCsv(answer: Pick<QueryAnswer, 'columns' | 'rows'>, name = 'rows.csv'): void {
  saveFile(name, 'text/csv', csvOf(answer))
}
