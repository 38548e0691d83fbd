import { useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'

/** What decides whether a column can be hidden. */
interface Hideable {
  readonly id: string
  readonly value?: unknown
  readonly sortValue?: unknown
}

/** The ids of hidden columns as the address has them, such as `size,held`. */
export function parseHidden(text: string | undefined): ReadonlySet<string> {
  return new Set(text === undefined || text === '' ? [] : text.split(','))
}

/** The ids as an address has them; undefined for none. */
export function formatHidden(ids: ReadonlySet<string>): string | undefined {
  return ids.size === 0 ? undefined : [...ids].sort().join(',')
}

/** Columns that the reader can hide: those with a value, except the first of them, which names the row. */
export function hideableColumns<Column extends Hideable>(columns: readonly Column[]): readonly Column[] {
  return columns.filter(({ value, sortValue }) => value !== null && (value ?? sortValue) !== undefined).slice(1)
}

/** The columns without those that the address hides. */
export function withoutHidden<Column extends Hideable>(
  columns: readonly Column[],
  hide: string | undefined,
): readonly Column[] {
  const hidden = parseHidden(hide)
  if (hidden.size === 0) return columns
  const gone = new Set(hideableColumns(columns).filter(({ id }) => hidden.has(id)))
  return columns.filter((column) => !gone.has(column))
}

/** The columns without those that the address of the page hides. */
export function useShownColumns<Column extends Hideable>(columns: readonly Column[]): readonly Column[] {
  const hide = useSearch({ strict: false, select: (search) => search.hide })
  return useMemo(() => withoutHidden(columns, hide), [columns, hide])
}
