import type { ColumnSpec } from '../../components/table/columns.ts'
import type { IndexedTable } from '../../api/types.ts'
import { selectColumn } from '../../components/selection/select-column.tsx'
import { RowLink } from '../../components/rows/row-link.tsx'
import { formatBytes, formatCount, formatPercent, formatPlural } from '../../strings/everywhere/units.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { tables as words } from '../../strings/tables.ts'
import { HealthCell, TableAdvice, TableScore, TableTrend } from './health-cells.tsx'
import { measured, type TableRow } from './table-row.ts'
import classes from './tables.module.css'

type Column = ColumnSpec<TableRow>

const NAME: Column = {
  id: 'table',
  header: words.columns.table,
  width: 'minmax(140px, 4fr)',
  sortValue: ({ table }) => table,
  cell: ({ table, name, namespace }) => (
    <RowLink path={`/tables/${encodeURIComponent(table)}`} title={table}>
      <span className={classes.dim}>{namespace}.</span>
      {name}
    </RowLink>
  ),
}

const SCORE: Column = {
  id: 'score',
  header: words.columns.score,
  width: '116px',
  sortValue: (row) => measured(row)?.score,
  cell: (row) => <TableScore row={row} />,
}

const TREND: Column = {
  id: 'trend',
  header: words.columns.trend,
  value: null,
  width: '92px',
  hideOnPhone: true,
  hideOnNarrow: true,
  cell: ({ table, health }) => (health === undefined ? null : <TableTrend table={table} />),
}

const ADVICE: Column = {
  id: 'advice',
  header: words.columns.advice,
  value: ({ health }) => health?.problem ?? health?.recommended,
  width: 'minmax(120px, 1fr)',
  hideOnPhone: true,
  cell: (row) => <TableAdvice row={row} />,
}

/** Selects tables for an operation on all of them. */
export const SELECT_COLUMN: Column = selectColumn(
  ({ table }) => table,
  ({ table }) => table,
)

/** Columns of the table list without the selection; sorted by the figures of the health index. */
export const tableColumns: readonly Column[] = [
  NAME,
  SCORE,
  TREND,
  figure('files', ({ data_file_count: files }) => files, { show: formatCount }),
  figure('small', ({ small_file_count: files }) => files, { show: formatCount, hideOnNarrow: true }),
  figure('deletes', ({ delete_ratio: ratio }) => ratio, {
    show: formatPercent,
    hideOnNarrow: true,
    help: ({ delete_file_count: files }) => words.deletedHelp(formatPlural(files, 'delete file')),
  }),
  figure('size', ({ total_size_bytes: bytes }) => bytes, { show: formatBytes }),
  figure('held', ({ held_bytes: bytes }) => bytes, {
    show: formatBytes,
    hideOnNarrow: true,
    help: () => words.heldHelp,
  }),
  {
    id: 'changed',
    header: words.columns.changed,
    width: '104px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: (row) => measured(row)?.last_commit_at,
    cell: (row) => <HealthCell row={row} show={({ last_commit_at: at }) => <RelativeTime at={at} />} />,
  },
  ADVICE,
]

/** Columns that the list can be sorted by. */
export const SORTABLE: readonly string[] = tableColumns.filter(({ sortValue }) => sortValue).map(({ id }) => id)

interface FigureOptions {
  readonly show: (value: number) => string
  readonly help?: (health: IndexedTable) => string
  readonly hideOnNarrow?: boolean
}

function figure(
  id: 'files' | 'small' | 'deletes' | 'size' | 'held',
  value: (health: IndexedTable) => number,
  { show, help, hideOnNarrow = false }: FigureOptions,
): Column {
  return {
    id,
    header: words.columns[id],
    width: '88px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    hideOnNarrow,
    sortValue: (row) => {
      const health = measured(row)
      return health && value(health)
    },
    cell: (row) => (
      <HealthCell row={row} show={(health) => <span title={help?.(health)}>{show(value(health))}</span>} />
    ),
  }
}
