import {
  columnVisibilityFeature,
  createSortedRowModel,
  type ColumnDef,
  type Row as ModelRow,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useMemo } from 'react'
import type { ColumnSpec } from './columns.ts'
import type { Sort, SortValue } from '../sorting.ts'

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
})
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
    data: rows,
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
  return { rows: table.getRowModel().rows, columns: shown, heads }
}

function columnDef<Row extends object>({ id, sortValue, highFirst }: ColumnSpec<Row>): ColumnDef<Features, Row> {
  if (sortValue === undefined) return { id, enableSorting: false }
  return {
    id,
    accessorFn: (row) => sortValue(row) ?? undefined,
    sortFn: compareRows,
    sortDescFirst: highFirst ?? false,
    sortUndefined: 'last',
  }
}

function compareRows<Row extends object>(
  a: ModelRow<Features, Row>,
  b: ModelRow<Features, Row>,
  column: string,
): number {
  return compareValues(a.getValue(column), b.getValue(column))
}

/** Numbers by size, anything else as names: numbers in them count as numbers, case does not count. */
function compareValues(a: SortValue, b: SortValue): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))
}
