/** What a list is sorted by; in the address `name` or, from high to low, `-name`. */
export interface Sort {
  readonly column: string
  readonly descending: boolean
}

export type SortValue = string | number | null | undefined

/** Reads the sort of an address; undefined when there is none or it names no column of `columns`. */
export function parseSort(text: string | undefined, columns: readonly string[]): Sort | undefined {
  if (text === undefined || text === '') return undefined
  const descending = text.startsWith('-')
  const column = descending ? text.slice(1) : text
  return columns.includes(column) ? { column, descending } : undefined
}

/** The sort as an address holds it. */
export function formatSort({ column, descending }: Sort): string {
  return descending ? `-${column}` : column
}

/** What a click on a column's head leads to: up, then down, then up again. */
export function nextSort(current: Sort | undefined, column: string, firstDescending: boolean): Sort {
  if (current?.column !== column) return { column, descending: firstDescending }
  return { column, descending: !current.descending }
}

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** The rows in order; those without a value come last either way, equal ones stay as they were. */
export function sortRows<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => SortValue,
  descending: boolean,
): readonly Row[] {
  const keyed = rows.map((row) => ({ row, value: valueOf(row) }))
  keyed.sort((a, b) => compareValues(a.value, b.value, descending))
  return keyed.map(({ row }) => row)
}

function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  const aMissing = a === null || a === undefined
  const bMissing = b === null || b === undefined
  if (aMissing || bMissing) return Number(aMissing) - Number(bMissing)
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
  return descending ? -order : order
}
