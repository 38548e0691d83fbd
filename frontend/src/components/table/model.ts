import {
  columnVisibilityFeature,
  type ColumnDef,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useMemo } from 'react'
import type { ColumnSpec } from './columns.ts'
import type { Sort, SortValue } from '../sorting.ts'

const features = tableFeatures({ columnVisibilityFeature, rowSortingFeature })
type Features = typeof features

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

interface TableModelOptions<Row extends object> {
  readonly rows: readonly Row[]
  readonly columns: readonly ColumnSpec<Row>[]
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
  /** Whether the window has room for a column. */
  readonly fits: (column: ColumnSpec<Row>) => boolean
}

/** The head of a column that the window has room for. */
export interface ColumnHead<Row> {
  readonly spec: ColumnSpec<Row>
  readonly sorted: 'asc' | 'desc' | false
  /** Sorts by the column, then reverses the order; undefined if the column cannot be sorted. */
  readonly sortBy: (() => void) | undefined
}

/** No rows: TanStack Table decides about columns only, see `sortedRows`. */
const NO_ROWS: readonly never[] = []

/** Rows in order and the columns that fit (TanStack Table). Rows without a value come last in either order. */
export function useTableModel<Row extends object>({ rows, columns, sort, onSort, fits }: TableModelOptions<Row>) {
  const specs = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns])
  const defs = useMemo(() => columns.map(columnDef), [columns])
  const columnVisibility = useMemo(
    () => Object.fromEntries(columns.map((column) => [column.id, fits(column)])),
    [columns, fits],
  )
  const sorting = useMemo(() => (sort ? [{ id: sort.column, desc: sort.descending }] : []), [sort])
  const table = useTable<Features, Row>({
    features,
    columns: defs,
    data: NO_ROWS,
    manualSorting: true,
    state: { sorting, columnVisibility },
    enableSortingRemoval: false,
    enableMultiSort: false,
    onSortingChange: (update) => {
      const [first] = typeof update === 'function' ? update(sorting) : update
      if (first) onSort?.({ column: first.id, descending: first.desc })
    },
  })
  const visible = table.getVisibleLeafColumns() // the same array while the same columns fit
  const shown = useMemo(() => visible.flatMap(({ id }) => specs.get(id) ?? []), [visible, specs])
  const heads = shown.map((spec): ColumnHead<Row> => {
    const column = table.getColumn(spec.id)
    const sortBy = onSort && column?.getCanSort() ? () => column.toggleSorting() : undefined
    return { spec, sorted: column?.getIsSorted() ?? false, sortBy }
  })
  const valueOf = sort && specs.get(sort.column)?.sortValue
  const descending = sort?.descending === true
  const ordered = useMemo(() => (valueOf ? sortedRows(rows, valueOf, descending) : rows), [rows, valueOf, descending])
  return { rows: ordered, columns: shown, heads }
}

function columnDef<Row extends object>({ id, sortValue, highFirst }: ColumnSpec<Row>): ColumnDef<Features, Row> {
  if (sortValue === undefined) return { id, enableSorting: false }
  return { id, accessorFn: (row) => sortValue(row) ?? undefined, sortDescFirst: highFirst ?? false }
}

/** Rows in an order; as they are where no column has its value. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly ColumnSpec<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const valueOf = sort && columns.find(({ id }) => id === sort.column)?.sortValue
  return valueOf ? sortedRows(rows, valueOf, sort.descending) : rows
}

/**
 * Rows in the order of a column; equal ones stay in their order. Reads each value once: TanStack Table makes an object of
 * each row and reads four values for each comparison, which took 52 ms for 5,000 rows on a fast computer.
 */
function sortedRows<Row>(rows: readonly Row[], valueOf: (row: Row) => SortValue, descending: boolean): readonly Row[] {
  const valued = rows.map((row) => ({ row, value: valueOf(row) ?? undefined }))
  const sign = descending ? -1 : 1
  valued.sort((a, b) => {
    if (a.value === undefined || b.value === undefined)
      return Number(a.value === undefined) - Number(b.value === undefined)
    return sign * compareValues(a.value, b.value)
  })
  return valued.map(({ row }) => row)
}

/** Numbers by size, anything else as names: numbers in them count as numbers, case does not count. */
function compareValues(a: SortValue, b: SortValue): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
}
