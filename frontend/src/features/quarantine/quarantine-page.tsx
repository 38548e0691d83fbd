import { Button, NativeSelect } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLiveEvents } from '../../api/live-events.ts'
import { readAllPages } from '../../api/read-all.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { QuarantineEntry, QuarantineList } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { formatBytes, formatCount } from '../../strings/everywhere/units.ts'
import { quarantine as words } from '../../strings/quarantine.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { useSearchParams } from '../../use-search-params.ts'
import { quarantineQuery, type QuarantineSearch } from './api.ts'
import { EntryActions } from './entry-actions.tsx'
import classes from './quarantine.module.css'

const STATES = Object.keys(words.states) as readonly QuarantineEntry['state'][]

const TONES: Readonly<Record<QuarantineEntry['state'], StatusTone>> = {
  held: 'ok',
  restoring: 'active',
  restored: 'idle',
  purging: 'active',
  purged: 'idle',
}

/** Files that expiry and orphan removal took away, newest first; the filters are in the URL. */
export function QuarantinePage() {
  useLiveEvents('operation.', () => void refresh('quarantine'))
  const [{ table, state }, changeSearch] = useSearchParams()
  const known = STATES.find((each) => each === state)
  const clear = (): void => changeSearch({ table: undefined, state: undefined })
  return (
    <Page
      title={words.title}
      lead={words.lead}
      fill
      actions={
        <NativeSelect
          aria-label={words.filter}
          data={[
            { value: '', label: words.anyState },
            ...STATES.map((value) => ({ value, label: words.states[value] })),
          ]}
          value={known ?? ''}
          onChange={({ currentTarget }) => changeSearch({ state: currentTarget.value || undefined })}
        />
      }
    >
      <EntryList search={{ table, state: known }} onClear={table || state ? clear : undefined} />
    </Page>
  )
}

interface EntryListProps {
  readonly search: QuarantineSearch
  readonly onClear: (() => void) | undefined
}

const entriesOf = ({ entries }: QuarantineList): readonly QuarantineEntry[] => entries

function EntryList({ search, onClear }: EntryListProps) {
  const query = quarantineQuery(search)
  const list = useInfiniteQuery(query)
  const rows = useMemo(() => list.data?.pages.flatMap(entriesOf) ?? [], [list.data])
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <Loading />
  if (rows.length === 0) {
    const action = onClear && (
      <Button variant="default" onClick={onClear}>
        {words.clear}
      </Button>
    )
    return (
      <Empty title={words.empty.title} detail={onClear ? words.empty.filteredText : words.empty.text} action={action} />
    )
  }
  return (
    <>
      <DataTable
        label={words.label}
        list={{ name: 'quarantine', readAll: () => readAllPages(query, entriesOf) }}
        rows={rows}
        rowKey={({ id }) => id}
        columns={COLUMNS}
      />
      {list.hasNextPage && (
        <div className={classes.more}>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {words.more}
          </Button>
        </div>
      )}
    </>
  )
}

const COLUMNS: readonly ColumnSpec<QuarantineEntry>[] = [
  {
    id: 'table',
    header: words.columns.table,
    value: ({ table }) => table,
    width: 'minmax(110px, 2fr)',
    cell: ({ table }) => (
      <Link to="/tables/$table" params={{ table }}>
        {table}
      </Link>
    ),
  },
  {
    id: 'reason',
    header: words.columns.reason,
    value: ({ reason }) => reason,
    width: 'minmax(120px, 1fr)',
    belowOnPhone: true,
    cell: ({ reason, operation_id: id, requested_by: who }) => (
      <Link to="/operations/$id" params={{ id }} title={who}>
        {words.reasons[reason]}
      </Link>
    ),
  },
  {
    id: 'state',
    header: words.columns.state,
    value: ({ state }) => state,
    width: '104px',
    belowOnPhone: true,
    cell: ({ state, problem }) => (
      <span title={problem ?? undefined}>
        <StatusDot tone={problem === null ? TONES[state] : 'warn'} label={words.states[state]} />
      </span>
    ),
  },
  figure('snapshots', ({ snapshots_count: count }) => count),
  figure('files', ({ files_count: count }) => count),
  figure('bytes', ({ bytes }) => bytes, formatBytes),
  {
    id: 'until',
    header: words.columns.until,
    value: ({ held_until: until, settled_at: settled }) => (settled === null ? until : null),
    width: '116px',
    align: 'end',
    belowOnPhone: true,
    cell: ({ held_until: until, settled_at: settled }) => (settled === null ? <RelativeTime at={until} /> : <span />),
  },
  {
    id: 'actions',
    header: words.columns.actions,
    value: null,
    headerHidden: true,
    width: '200px',
    align: 'end',
    cell: (entry) => <EntryActions entry={entry} />,
  },
]

function figure(
  id: 'snapshots' | 'files' | 'bytes',
  value: (entry: QuarantineEntry) => number,
  format: (value: number) => string = formatCount,
): ColumnSpec<QuarantineEntry> {
  return {
    id,
    header: words.columns[id],
    value,
    width: '88px',
    align: 'end',
    hideOnPhone: true,
    cell: (entry) => <span>{format(value(entry))}</span>,
  }
}
