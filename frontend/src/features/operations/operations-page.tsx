import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { useLiveEvents } from '../../api/live-events.ts'
import { readAllPages } from '../../api/read-all.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { Operation, OperationList as OperationPage, OperationState } from '../../api/types.ts'
import type { ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { Page } from '../../components/page/page.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { Note } from '../../components/status/note.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { formatDuration } from '../../strings/everywhere/units.ts'
import { operationStrings as strings } from '../../strings/operations.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { operationsQuery, type OperationSearch } from './api.ts'
import { operationName, outcomeOf, STATE_TONES } from './operation-words.ts'
import classes from './operations.module.css'

const STATES: readonly OperationState[] = ['running', 'succeeded', 'failed', 'cancelled', 'unknown']

/** Operations on tables, newest first; the filters are in the URL. */
export function OperationsPage() {
  useLiveEvents('operation.', () => void refresh(['operations', 'list']))
  const [{ table, state, group }, changeSearch] = useSearchParams()
  const clear = (): void => changeSearch({ table: undefined, state: undefined, group: undefined })
  const known = STATES.find((each) => each === state)
  const search: OperationSearch = {
    ...(table ? { table } : {}),
    ...(known ? { state: known } : {}),
    ...(group ? { group } : {}),
  }
  return (
    <Page
      title={strings.title}
      lead={strings.lead}
      fill
      actions={
        <>
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/operations/savings" />}>
            {strings.savings}
          </Button>
          <TableFilter
            key={table}
            table={table ?? ''}
            onChange={(next) => changeSearch({ table: next || undefined })}
          />
          <NativeSelect
            aria-label={strings.state}
            data={[
              { value: '', label: strings.anyState },
              ...STATES.map((value) => ({ value, label: strings.states[value] })),
            ]}
            value={known ?? ''}
            onChange={({ currentTarget }) => changeSearch({ state: currentTarget.value || undefined })}
          />
        </>
      }
    >
      {group && <GroupNotice onClear={clear} />}
      <OperationList search={search} onClear={table || state || group ? clear : undefined} />
    </Page>
  )
}

/** Says that the list is only of operations that were started together. */
function GroupNotice({ onClear }: { readonly onClear: () => void }) {
  return (
    <Note
      tone="info"
      action={
        <Button variant="default" onClick={onClear}>
          {strings.clear}
        </Button>
      }
    >
      {strings.together}
    </Note>
  )
}

interface TableFilterProps {
  readonly table: string
  readonly onChange: (table: string) => void
}

/** The table's whole name, taken over on Enter or when the field is left. */
function TableFilter({ table, onChange }: TableFilterProps) {
  const [text, setText] = useState(table)
  useEffect(() => setText(table), [table])
  const commit = (): void => {
    if (text.trim() !== table) onChange(text.trim())
  }
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        commit()
      }}
    >
      <TextInput
        className={classes.tableFilter}
        aria-label={strings.table}
        placeholder={strings.tablePlaceholder}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={commit}
      />
    </form>
  )
}

interface OperationListProps {
  readonly search: OperationSearch
  readonly onClear: (() => void) | undefined
}

const operationsOf = ({ operations }: OperationPage): readonly Operation[] => operations

function OperationList({ search, onClear }: OperationListProps) {
  const navigate = useNavigate()
  const query = operationsQuery(search)
  const list = useInfiniteQuery(query)
  const rows = useMemo(() => list.data?.pages.flatMap(operationsOf) ?? [], [list.data])
  if (list.isError && !list.data) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />
  if (list.isPending) return <Loading />
  if (rows.length === 0) return <NoOperations onClear={onClear} />
  return (
    <>
      <DataTable
        label={strings.title}
        list={{ name: 'operations', readAll: () => readAllPages(query, operationsOf) }}
        rows={rows}
        rowKey={({ id }) => id}
        columns={COLUMNS}
        onOpen={({ id }) => void navigate({ to: '/operations/$id', params: { id } })}
      />
      {list.hasNextPage ? (
        <div className={classes.more}>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {strings.loadMore}
          </Button>
        </div>
      ) : undefined}
    </>
  )
}

function NoOperations({ onClear }: { readonly onClear: (() => void) | undefined }) {
  const { title, text, link, filteredTitle, filteredText } = strings.empty
  if (!onClear) return <Empty title={title} detail={text} action={<Link to="/tables">{link}</Link>} />
  return (
    <Empty
      title={filteredTitle}
      detail={filteredText}
      action={
        <Button variant="default" onClick={onClear}>
          {strings.clear}
        </Button>
      }
    />
  )
}

const COLUMNS: readonly ColumnSpec<Operation>[] = [
  {
    id: 'operation',
    header: strings.columns.operation,
    value: ({ operation }) => operation,
    width: 'minmax(132px, 1.2fr)',
    cell: ({ id, operation }) => (
      <Link to="/operations/$id" params={{ id }}>
        {operationName(operation)}
      </Link>
    ),
  },
  {
    id: 'state',
    header: strings.columns.state,
    value: ({ state }) => state,
    width: '104px',
    cell: ({ state }) => <StatusDot tone={STATE_TONES[state]} label={strings.states[state]} />,
  },
  {
    id: 'table',
    header: strings.columns.table,
    value: ({ table }) => table,
    width: 'minmax(96px, 1.6fr)',
    cell: ({ table }) => (
      <Link to="/tables/$table" params={{ table }}>
        {table}
      </Link>
    ),
    belowOnPhone: true,
  },
  {
    id: 'who',
    header: strings.columns.who,
    value: ({ requested_by: who }) => who,
    width: 'minmax(80px, 0.8fr)',
    cell: ({ requested_by: who }) => <span title={who}>{who}</span>,
    belowOnPhone: true,
  },
  {
    id: 'started',
    header: strings.columns.started,
    value: ({ created_at: at }) => at,
    width: '104px',
    cell: ({ created_at: at }) => <RelativeTime at={at} />,
  },
  {
    id: 'duration',
    header: strings.columns.duration,
    value: ({ duration_ms: ms }) => ms,
    width: '96px',
    align: 'end',
    cell: ({ duration_ms: ms }) => <span>{ms === null ? strings.noDuration : formatDuration(ms)}</span>,
    hideOnPhone: true,
  },
  {
    id: 'outcome',
    header: strings.columns.outcome,
    value: outcomeOf,
    width: 'minmax(140px, 2fr)',
    cell: (operation) => <span title={outcomeOf(operation)}>{outcomeOf(operation)}</span>,
    belowOnPhone: true,
  },
]
