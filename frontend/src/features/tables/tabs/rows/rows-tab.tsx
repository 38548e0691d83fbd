import { Button, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useCan } from '../../../../api/session.ts'
import type { QueryAnswer } from '../../../../api/types.ts'
import { SearchIcon } from '../../../../components/icons.tsx'
import { RowGrid } from '../../../../components/rows/row-grid.tsx'
import { quotedName } from '../../../../components/text/quoted-name.ts'
import { ErrorState, Loading } from '../../../../components/status/states.tsx'
import { Notice } from '../../../../components/status/notice.tsx'
import { formatBytes, formatDuration } from '../../../../strings/everywhere/units.ts'
import { rowGrid, tableRows as words } from '../../../../strings/query.ts'
import { overviewQuery, rowsQuery, type RowsView } from '../../api.ts'
import { ChangedRows } from './changed-rows.tsx'
import { formatComparison } from '../../search.ts'
import classes from '../schema-tab.module.css'
import type { TabProps } from '../tab-props.ts'

const FEW = 100
const MANY = 1000

const LAST_COMMIT = { from: undefined, to: undefined, key: '' }

/** The first rows of a table, of any version that a branch or tag names. */
export function RowsTab(props: TabProps) {
  const canRead = useCan('DataEngineer')
  if (!canRead) return <Notice tone="info">{words.needsRole}</Notice>
  const isCompared = props.search.compare !== undefined && props.search.compare !== ''
  return isCompared ? <ChangedRows key={props.table} {...props} /> : <Rows key={props.table} {...props} />
}

function Rows({ table, search, onSearch }: TabProps) {
  const [ref, setRef] = useState('')
  const [limit, setLimit] = useState(FEW)
  const [where, setWhere] = useState(search.q ?? '')
  const order = orderOf(search.sort)
  const view: RowsView = { ref, where: search.q ?? '', order, limit }
  const query = useQuery(rowsQuery(table, view))
  return (
    <>
      <form
        className={classes.tools}
        onSubmit={(event) => {
          event.preventDefault()
          onSearch({ q: where })
        }}
      >
        <TextInput
          aria-label={words.filter}
          placeholder={words.filter}
          leftSection={<SearchIcon size={14} />}
          value={where}
          onChange={(event) => setWhere(event.currentTarget.value)}
          flex={1}
        />
        <Button type="submit" variant="default">
          {words.apply}
        </Button>
        <VersionSelect table={table} value={ref} onChange={setRef} />
        <Button variant="default" onClick={() => onSearch({ q: '', sort: '', compare: formatComparison(LAST_COMMIT) })}>
          {words.compare}
        </Button>
        <Link to="/query" search={{ sql: `SELECT * FROM ${quotedName(table)}` }}>
          {words.openQuery}
        </Link>
      </form>
      {query.isPending && <Loading lines={8} />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <Shown
          table={table}
          answer={query.data}
          order={order}
          onOrder={(column) => onSearch({ sort: nextOrder(column, order) })}
          onMore={limit < MANY ? () => setLimit(MANY) : undefined}
        />
      )}
    </>
  )
}

interface ShownProps {
  readonly table: string
  readonly answer: QueryAnswer
  readonly order: RowsView['order']
  readonly onOrder: (column: string) => void
  readonly onMore: (() => void) | undefined
}

function Shown({ table, answer, order, onOrder, onMore }: ShownProps) {
  const { rows, truncated, read_bytes: read, planned_bytes: all, duration_ms: ms } = answer
  return (
    <>
      <RowGrid label={words.label(table)} answer={answer} order={order} onOrder={onOrder} />
      <div className={classes.tools}>
        <span className={classes.dim}>
          {rows.length === 0 ? rowGrid.none : rowGrid.rows(rows.length, truncated)}{' '}
          {rowGrid.read(formatBytes(read), formatBytes(all), formatDuration(ms))}
        </span>
        {truncated && onMore && (
          <Button variant="default" size="compact-sm" onClick={onMore}>
            {words.more(MANY)}
          </Button>
        )}
      </div>
    </>
  )
}

interface VersionSelectProps {
  readonly table: string
  readonly value: string
  readonly onChange: (ref: string) => void
}

/** Branches and tags; the current state of `main` is the first. */
function VersionSelect({ table, value, onChange }: VersionSelectProps) {
  const { data } = useQuery(overviewQuery(table))
  const refs = (data?.refs ?? []).filter(({ name }) => name !== 'main')
  if (refs.length === 0) return undefined
  return (
    <Select
      aria-label={words.version}
      data={[
        { value: '', label: words.current },
        ...refs.map(({ name, type }) => ({ value: name, label: words.ref(type, name) })),
      ]}
      value={value}
      onChange={(next) => onChange(next ?? '')}
      allowDeselect={false}
    />
  )
}

/** The order in an address: the name of a column, with a minus for the descending one. */
function orderOf(sort: string | undefined): RowsView['order'] {
  if (sort === undefined || sort === '') return undefined
  return sort.startsWith('-') ? { column: sort.slice(1), isDescending: true } : { column: sort, isDescending: false }
}

/** Ascending, then descending, then none. */
function nextOrder(column: string, order: RowsView['order']): string {
  if (order?.column !== column) return column
  return order.isDescending ? '' : `-${column}`
}
