import { ActionIcon, Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useCan } from '../../api/session.ts'
import type { Snapshot, SnapshotList } from '../../api/types.ts'
import { Chart } from '../../components/chart.tsx'
import { Copyable } from '../../components/copyable.tsx'
import type { ColumnSpec } from '../../components/data-table.tsx'
import { MoreIcon } from '../../components/icons.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useRowTabIndex } from '../../components/row-active.ts'
import { formatBytes, formatCount, formatDelta, formatPlural } from '../../components/units.ts'
import { common } from '../../strings/common.ts'
import { snapshots as words, table as tableWords } from '../../strings/tables.ts'
import { overviewQuery, snapshotsQuery } from './api.ts'
import { PagedTable } from './paged-table.tsx'
import { snapshotDelta } from './snapshot-deltas.ts'
import classes from './snapshots-tab.module.css'
import type { TabProps } from './tab-props.ts'
import { usePaged } from './use-paged.ts'

const snapshotsOf = (page: SnapshotList): readonly Snapshot[] => page.snapshots

/** Snapshots as a timeline, newest first: what each changed, who points at it, and the way back. */
export function SnapshotsTab({ table, search, onSearch, onAction }: TabProps) {
  const paged = usePaged(snapshotsQuery(table), snapshotsOf)
  const current = useQuery(overviewQuery(table)).data?.current_snapshot_id
  const canRollBack = useCan('LeadDataEngineer')
  const canExpire = useCan('DataEngineer')
  const first = paged.items[0]?.snapshot_id
  const last = paged.hasMore ? undefined : paged.items.at(-1)?.snapshot_id
  const columns = useMemo(
    () => snapshotColumns({ current, first, last, canRollBack, canExpire, onAction }),
    [current, first, last, canRollBack, canExpire, onAction],
  )
  return (
    <>
      {paged.items.length > 2 && <RowsChart snapshots={paged.items} />}
      <PagedTable
        label={words.label}
        empty={words.empty}
        paged={paged}
        rowKey={({ snapshot_id }) => snapshot_id}
        columns={columns}
        search={search}
        onSearch={onSearch}
      />
    </>
  )
}

function RowsChart({ snapshots }: { readonly snapshots: readonly Snapshot[] }) {
  const points = useMemo(() => {
    const known = snapshots.map((one) => ({
      at: Date.parse(one.committed_at) / 1000,
      rows: snapshotDelta(one, 'rows').total,
    }))
    const told = known.filter((point): point is { at: number; rows: number } => point.rows !== undefined)
    return told.sort((a, b) => a.at - b.at)
  }, [snapshots])
  const x = useMemo(() => points.map(({ at }) => at), [points])
  const series = useMemo(
    () => [{ label: words.columns.rows, values: points.map(({ rows }) => rows), fill: true }],
    [points],
  )
  const summary = words.chartSummary(
    formatCount(points[0]?.rows ?? 0),
    formatCount(points.at(-1)?.rows ?? 0),
    formatPlural(points.length, 'snapshot'),
  )
  return <Chart x={x} series={series} format={formatRows} whole summary={summary} height={120} />
}

const formatRows = (rows: number): string => formatPlural(rows, 'row')

interface SnapshotColumnsOptions {
  readonly current: string | null | undefined
  readonly first: string | undefined
  readonly last: string | undefined
  readonly canRollBack: boolean
  readonly canExpire: boolean
  readonly onAction: TabProps['onAction']
}

function snapshotColumns(options: SnapshotColumnsOptions): readonly ColumnSpec<Snapshot>[] {
  const { current, first, last, canRollBack, canExpire, onAction } = options
  const columns: ColumnSpec<Snapshot>[] = [
    {
      id: 'committed',
      header: words.columns.committed,
      width: 'minmax(116px, 1fr)',
      cell: ({ snapshot_id: id, committed_at: at }) => (
        <When at={at} isCurrent={id === current} isFirst={id === first} isLast={id === last} />
      ),
    },
    {
      id: 'operation',
      header: words.columns.operation,
      width: 'minmax(80px, 0.6fr)',
      cell: ({ operation }) => <span>{operation ?? common.unknown}</span>,
    },
    deltaColumn('rows', words.columns.rows, formatCount),
    { ...deltaColumn('files', words.columns.files, formatCount), hideOnPhone: true },
    { ...deltaColumn('bytes', words.columns.size, formatBytes), hideOnPhone: true },
    {
      id: 'refs',
      header: words.columns.refs,
      width: 'minmax(80px, 1fr)',
      hideOnPhone: true,
      cell: ({ refs }) => (
        <span>
          {refs.map((ref) => (
            <span key={ref} className={classes.ref}>
              {ref}
            </span>
          ))}
        </span>
      ),
    },
    {
      id: 'id',
      header: words.columns.id,
      width: 'minmax(190px, 1fr)',
      hideOnPhone: true,
      cell: ({ snapshot_id: id }) => <Copyable text={id} what={words.id} />,
    },
  ]
  if (!canExpire) return columns
  const menu: ColumnSpec<Snapshot> = {
    id: 'actions',
    header: words.columns.actions,
    headerHidden: true,
    width: '44px',
    cell: ({ snapshot_id: id }) =>
      id === current ? null : <SnapshotMenu id={id} canRollBack={canRollBack} onAction={onAction} />,
  }
  return [...columns, menu]
}

function deltaColumn(
  what: 'rows' | 'files' | 'bytes',
  header: string,
  format: (value: number) => string,
): ColumnSpec<Snapshot> {
  return {
    id: what,
    header,
    width: 'minmax(84px, 0.6fr)',
    align: 'end',
    cell: (snapshot) => {
      const { added, removed, total } = snapshotDelta(snapshot, what)
      const change = added - removed
      const sign = change === 0 ? classes.dim : classes[change > 0 ? 'plus' : 'minus']
      const title = [
        words.deltaTitle(format(added), format(removed)),
        ...(total === undefined ? [] : [words.totalAfter(format(total))]),
      ].join('; ')
      return (
        <span className={sign} title={title}>
          {formatDelta(change, format)}
        </span>
      )
    },
  }
}

interface WhenProps {
  readonly at: string
  readonly isCurrent: boolean
  readonly isFirst: boolean
  readonly isLast: boolean
}

function When({ at, isCurrent, isFirst, isLast }: WhenProps) {
  const rail = [classes.rail, isFirst && classes.first, isLast && classes.last].filter(Boolean).join(' ')
  return (
    <span className={classes.when}>
      <span className={rail} aria-hidden="true">
        <span className={isCurrent ? `${classes.dot} ${classes.current}` : classes.dot} />
      </span>
      <RelativeTime at={at} />
    </span>
  )
}

interface SnapshotMenuProps {
  readonly id: string
  readonly canRollBack: boolean
  readonly onAction: TabProps['onAction']
}

function SnapshotMenu({ id, canRollBack, onAction }: SnapshotMenuProps) {
  const tabIndex = useRowTabIndex()
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon size={24} tabIndex={tabIndex} aria-label={tableWords.rowActions(id)}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {canRollBack && <Menu.Item onClick={() => onAction('rollback', { target: id })}>{words.rollback} …</Menu.Item>}
        <Menu.Item onClick={() => onAction('expire', { target: id })}>{words.expire} …</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
