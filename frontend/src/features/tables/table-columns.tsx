import type { TableListItem } from '../../api/types.ts'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { HealthCell, TableAdvice, TableScore } from './health-cells.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { RowLink } from '../../components/row-link.tsx'
import { formatBytes, formatCount } from '../../components/text/units.ts'
import { tables as words } from '../../strings/tables.ts'
import { healthStore } from './health-store.ts'
import classes from './tables.module.css'

/** Columns that the list can be sorted by only as far as health is known. */
export const HEALTH_SORTS: readonly string[] = ['score', 'files', 'size', 'changed']

const healthOf = ({ table }: TableListItem) => healthStore.get(table).health

/** Columns of the table list; all but the name are read while a row is in view. */
export const tableColumns: readonly ColumnSpec<TableListItem>[] = [
  {
    id: 'table',
    header: words.columns.table,
    width: 'minmax(150px, 1.5fr)',
    sortValue: ({ table }) => table,
    cell: ({ table, name, namespace }) => (
      <RowLink path={`/tables/${encodeURIComponent(table)}`} title={table}>
        <span className={classes.dim}>{namespace}.</span>
        {name}
      </RowLink>
    ),
  },
  {
    id: 'score',
    header: words.columns.score,
    width: '120px',
    sortValue: (row) => healthOf(row)?.score,
    cell: () => <TableScore />,
  },
  {
    id: 'files',
    header: words.columns.files,
    width: '96px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: (row) => healthOf(row)?.data_file_count,
    cell: () => <HealthCell show={({ data_file_count }) => formatCount(data_file_count)} />,
  },
  {
    id: 'size',
    header: words.columns.size,
    width: '96px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: (row) => healthOf(row)?.total_size_bytes,
    cell: () => <HealthCell show={({ total_size_bytes }) => formatBytes(total_size_bytes)} />,
  },
  {
    id: 'changed',
    header: words.columns.changed,
    width: '112px',
    align: 'end',
    highFirst: true,
    hideOnPhone: true,
    sortValue: (row) => healthOf(row)?.last_updated_at,
    cell: () => <HealthCell show={({ last_updated_at }) => <RelativeTime at={last_updated_at} />} />,
  },
  {
    id: 'advice',
    header: words.columns.advice,
    width: 'minmax(160px, 2fr)',
    hideOnPhone: true,
    cell: () => <TableAdvice />,
  },
]

/** Columns that the list can be sorted by. */
export const SORTABLE: readonly string[] = tableColumns.filter(({ sortValue }) => sortValue).map(({ id }) => id)
