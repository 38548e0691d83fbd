import { Button, SegmentedControl, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { useCan } from '../../api/session.ts'
import type { Pipeline } from '../../api/types.ts'
import type { CellValue, ColumnSpec } from '../../components/table/columns.ts'
import { DataTable } from '../../components/table/data-table.tsx'
import { PlusIcon, SearchIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page/page.tsx'
import { formatSort, parseSort, type Sort } from '../../components/sorting.ts'
import { Empty, Loading } from '../../components/status/states.tsx'
import { formatCount } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { countByState, orderedIds, SORT_KEYS, type SortKey, STATES } from './list-order.ts'
import {
  DurationCell,
  LagCell,
  LastCell,
  NameCell,
  nameOf,
  RateCell,
  StateCell,
  TrendCell,
  TriggerCell,
} from './live-cells.tsx'
import { LiveDot, NotLiveNote } from './monitor/live-status.tsx'
import { lastBatch, type LiveRow } from './monitor/state.ts'
import { monitorStore, useMonitor, usePipelineIds } from './monitor/store.ts'
import { currentRate, isLagKnown } from './pipeline-life.ts'
import classes from './pipelines.module.css'

interface Row {
  readonly id: string
}

/** How often a list that is sorted by live figures is sorted again, so that rows do not jump under the pointer. */
const RESORT_MS = 3000

const LIST = { name: 'pipelines' }

const COLUMNS: readonly ColumnSpec<Row>[] = [
  column('state', {
    width: '96px',
    cell: ({ id }) => <StateCell id={id} />,
    value: live(({ pipeline }) => pipeline.state),
    sortKey: 'attention',
  }),
  column('name', {
    width: 'minmax(132px, 1fr)',
    cell: ({ id }) => <NameCell id={id} />,
    value: live(({ pipeline }) => nameOf(pipeline)),
    sortKey: 'name',
  }),
  figure('rate', {
    width: '112px',
    cell: ({ id }) => <RateCell id={id} />,
    value: live(({ pipeline, samples }) => currentRate(pipeline, samples.last, Date.now())),
    sortKey: 'rate',
  }),
  figure('lag', {
    width: '110px',
    cell: ({ id }) => <LagCell id={id} />,
    value: live(({ pipeline, samples }) => (isLagKnown(pipeline) ? samples.last?.lagSeconds : undefined)),
    sortKey: 'lag',
    hideOnPhone: true,
  }),
  figure('duration', {
    width: '90px',
    cell: ({ id }) => <DurationCell id={id} />,
    value: live((row) => lastBatch(row)?.durationMs),
    sortKey: 'duration',
    hideOnPhone: true,
  }),
  column('trend', {
    width: '144px',
    cell: ({ id }) => <TrendCell id={id} />,
    value: null,
    hideOnPhone: true,
    hideOnNarrow: true,
  }),
  column('trigger', {
    width: '100px',
    cell: ({ id }) => <TriggerCell id={id} />,
    value: live(({ pipeline }) => pipeline.trigger_interval),
    hideOnPhone: true,
    hideOnNarrow: true,
  }),
  figure('last', {
    width: '110px',
    cell: ({ id }) => <LastCell id={id} />,
    value: live((row) => timeOf(lastBatch(row)?.atMs)),
    hideOnPhone: true,
  }),
]

/** A value of the current state of a pipeline; undefined for one that was removed meanwhile. */
function live(valueOf: (row: LiveRow) => CellValue): (row: Row) => CellValue {
  return ({ id }) => {
    const row = monitorStore.row(id)
    return row && valueOf(row)
  }
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

interface ColumnOptions extends Pick<ColumnSpec<Row>, 'width' | 'cell' | 'hideOnPhone' | 'hideOnNarrow'> {
  readonly value: ((row: Row) => CellValue) | null
  /** What the column sorts by; without it the column is not sortable. */
  readonly sortKey?: SortKey
}

function column(id: keyof typeof words.list.columns, { sortKey, ...options }: ColumnOptions): ColumnSpec<Row> {
  // The rows are sorted already: the value only makes the column sortable.
  return {
    id: sortKey ?? id,
    header: words.list.columns[id],
    ...options,
    ...(sortKey ? { sortValue: () => 0 } : {}),
  }
}

function figure(...parts: Parameters<typeof column>): ColumnSpec<Row> {
  return { ...column(...parts), align: 'end', highFirst: true }
}

/** All pipelines, live. */
export function PipelinesPage() {
  const connection = useMonitor()
  const ids = usePipelineIds()
  const canStart = useCan('DataEngineer')
  const startButton = canStart && (
    <Button component={Link} to="/pipelines/new" leftSection={<PlusIcon size={14} />}>
      {words.start}
    </Button>
  )
  return (
    <Page
      title={words.title}
      lead={words.lead}
      aside={<LiveDot connection={connection} />}
      actions={ids.length > 0 && startButton}
      fill
    >
      <NotLiveNote connection={connection} />
      {ids.length > 0 && <PipelineList ids={ids} />}
      {ids.length === 0 && connection.kind === 'live' && (
        <Empty title={words.list.emptyTitle} detail={words.list.emptyText} action={startButton} />
      )}
      {ids.length === 0 && connection.kind === 'connecting' && <Loading lines={8} />}
    </Page>
  )
}

function PipelineList({ ids }: { readonly ids: readonly string[] }) {
  const [search, show] = useSearchParams()
  const navigate = useNavigate()
  const text = search['q'] ?? ''
  const state = STATES.find((one) => one === search['state'])
  const sort = parseSort(search['sort'], SORT_KEYS) ?? { column: 'attention', descending: false }
  const rows = useOrderedRows(ids, { text, state, sort })
  return (
    <>
      <div className={classes.tools}>
        <TextInput
          className={classes.search ?? ''}
          type="search"
          aria-label={words.list.search}
          placeholder={words.list.searchPlaceholder}
          leftSection={<SearchIcon size={14} />}
          value={text}
          onChange={({ currentTarget }) => show({ q: currentTarget.value })}
        />
        <StateFilter ids={ids} state={state} onChange={(next) => show({ state: next })} />
      </div>
      {rows.length === 0 ? (
        <Empty
          title={words.list.noneTitle}
          detail={words.list.noneText}
          action={
            <Button variant="default" onClick={() => show({ q: undefined, state: undefined })}>
              {words.list.clear}
            </Button>
          }
        />
      ) : (
        <DataTable
          label={words.list.label}
          list={LIST}
          rows={rows}
          rowKey={({ id }) => id}
          columns={COLUMNS}
          rowHeight={40}
          sort={sort}
          onSort={(next) => show({ sort: formatSort(next) })}
          onOpen={({ id }) => void navigate({ to: '/pipelines/$id', params: { id } })}
        />
      )}
    </>
  )
}

interface Shown {
  readonly text: string
  readonly state: Pipeline['state'] | undefined
  readonly sort: Sort
}

const rowById = new Map<string, Row>()

/** The rows in their order; the same object for the same pipeline, so that only what moves is drawn. */
function useOrderedRows(ids: readonly string[], { text, state, sort }: Shown): readonly Row[] {
  const { column, descending } = sort
  const key = SORT_KEYS.find((one) => one === column) ?? 'attention'
  const isFigure = key === 'rate' || key === 'lag' || key === 'duration'
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (!isFigure) return undefined
    const timer = setInterval(() => setTurn((before) => before + 1), RESORT_MS)
    return () => clearInterval(timer)
  }, [isFigure])
  return useMemo(() => {
    const ordered = orderedIds(monitorStore.rows, { text, state }, { key, descending })
    return ordered.map((id) => {
      const known = rowById.get(id) ?? { id }
      rowById.set(id, known)
      return known
    })
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `ids` and `turn` decide when to read the store again
  }, [ids, turn, text, state, key, descending])
}

interface StateFilterProps {
  readonly ids: readonly string[]
  readonly state: Pipeline['state'] | undefined
  readonly onChange: (state: string | undefined) => void
}

function StateFilter({ ids, state, onChange }: StateFilterProps) {
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- `ids` decides when to read the store again
  const counts = useMemo(() => countByState(monitorStore.rows), [ids])
  const shown = STATES.filter((one) => counts[one] > 0 || one === state)
  return (
    <SegmentedControl
      aria-label={words.list.filterByState}
      value={state ?? ''}
      onChange={(next) => onChange(next === '' ? undefined : next)}
      data={[
        { value: '', label: `${words.list.allStates} ${formatCount(ids.length)}` },
        ...shown.map((one) => ({ value: one, label: `${words.states[one]} ${formatCount(counts[one])}` })),
      ]}
    />
  )
}
