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
