import { Button } from '@mantine/core'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { DataTable } from '../../../components/table/data-table.tsx'
import { formatSort, parseSort } from '../../../components/sorting.ts'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatCount } from '../../../strings/everywhere/units.ts'
import { table as words } from '../../../strings/tables.ts'
import classes from './paged-table.module.css'
import type { TabProps } from './tab-props.ts'
import type { Paged } from './use-paged.ts'

export interface PagedTableProps<Row> extends Pick<TabProps, 'search' | 'onSearch'> {
  /** The name of files and of the list in saved views. */
  readonly list: string
  readonly label: string
  readonly empty: string
  readonly paged: Paged<Row>
  readonly rowKey: (row: Row) => string
  readonly columns: readonly ColumnSpec<Row>[]
  readonly rowHeight?: number
}

/** A list of a table's parts that is read a page at a time; it can be sorted once all of it is there. */
export function PagedTable<Row extends object>(props: PagedTableProps<Row>) {
  const { list, label, empty, paged, columns, search, onSearch, rowKey, rowHeight } = props
  if (paged.isPending) return <Loading lines={10} />
  if (paged.error !== null && paged.items.length === 0) {
    return <ErrorState error={paged.error} onRetry={paged.reload} />
  }
  if (paged.items.length === 0) return <Empty title={empty} />
  const sortable = columns.filter(({ sortValue }) => sortValue).map(({ id }) => id)
  return (
    <>
      <DataTable
        label={label}
        list={{ name: list, readAll: paged.readAll }}
        rows={paged.items}
        rowKey={rowKey}
        columns={columns}
        {...(rowHeight === undefined ? {} : { rowHeight })}
        sort={paged.hasMore ? undefined : parseSort(search.sort, sortable)}
        onSort={paged.hasMore ? undefined : (sort) => onSearch({ sort: formatSort(sort) })}
      />
      {(paged.hasMore || paged.error !== null) && <More paged={paged} />}
    </>
  )
}

function More<Row>({ paged }: { readonly paged: Paged<Row> }) {
  return (
    <div className={classes.more}>
      {paged.error === null ? (
        <>
          <Button variant="default" loading={paged.isLoadingMore} onClick={paged.loadMore}>
            {words.loadMore(formatCount(1000))}
          </Button>
          <span className={classes.dim}>{words.shownOfMore(formatCount(paged.items.length))}</span>
        </>
      ) : (
        <>
          <span role="alert">{words.moved}</span>
          <Button variant="default" onClick={paged.reload}>
            {words.reload}
          </Button>
        </>
      )}
    </div>
  )
}
