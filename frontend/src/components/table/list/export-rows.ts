import { csvOf } from '../../rows/csv.ts'
import { type CellValue, type ExportedColumn, exportedValue } from '../columns.ts'

export type ExportFormat = 'csv' | 'json'

/** A whole number or decimal as text: 64-bit integers, whose digits a JavaScript number would lose. */
const DIGITS = /^-?\d+(\.\d+)?$/

/** Rows as the text of a file, one value for each column that has one; JSON names values by the id of their column. */
export function exportText<Row>(
  format: ExportFormat,
  columns: readonly ExportedColumn<Row>[],
  rows: readonly Row[],
): string {
  const valued = columns.flatMap((column) => {
    const valueOf = exportedValue(column)
    return valueOf === undefined ? [] : [{ id: column.id, header: column.header, values: rows.map(valueOf) }]
  })
  if (format === 'csv') {
    const typed = valued.map(({ header, values }) => ({
      name: header,
      type: values.every(isNumeric) ? 'long' : 'string',
    }))
    return csvOf({ columns: typed, rows: rows.map((_row, at) => valued.map(({ values }) => cellText(values[at]))) })
  }
  const objects = rows.map((_row, at) => Object.fromEntries(valued.map(({ id, values }) => [id, values[at] ?? null])))
  return `${JSON.stringify(objects, null, 2)}\n`
}

function isNumeric(value: CellValue): boolean {
  return (
    value === null ||
    value === undefined ||
    typeof value === 'number' ||
    (typeof value === 'string' && DIGITS.test(value))
  )
}

/** Lists as one text; other values as they are. */
function cellText(value: CellValue): CellValue {
  return Array.isArray(value) ? value.join(', ') : value
}
