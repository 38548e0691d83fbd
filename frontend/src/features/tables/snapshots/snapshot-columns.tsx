import type { Snapshot } from '../../../api/types.ts'
import { Copyable } from '../../../components/text/copyable.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { formatBytes, formatCount, formatDelta } from '../../../strings/everywhere/units.ts'
import { common } from '../../../strings/everywhere/common.ts'
import { snapshots as words } from '../../../strings/tables.ts'
import { RowChangeCell } from './row-change-cell.tsx'
import { rowChange, snapshotDelta } from './snapshot-change.ts'
import { type MenuPlace, SnapshotMenuButton } from './snapshot-menu.tsx'
import classes from './snapshots-tab.module.css'

interface SnapshotColumnsOptions {
  readonly current: string | null | undefined
  /** The newest and the oldest snapshot, where the rail of the timeline begins and ends. */
  readonly first: string | undefined
  readonly last: string | undefined
  /** Opens the menu of a snapshot; undefined where the caller has no action on it. */
  readonly onMenu: ((place: MenuPlace) => void) | undefined
}

/** The columns of the list of snapshots. */
export function snapshotColumns({
  current,
  first,
  last,
  onMenu,
}: SnapshotColumnsOptions): readonly ColumnSpec<Snapshot>[] {
  const columns: ColumnSpec<Snapshot>[] = [
    {
      id: 'committed',
      header: words.columns.committed,
      value: ({ committed_at: at }) => at,
      width: 'minmax(116px, 1fr)',
      cell: ({ snapshot_id: id, committed_at: at }) => (
        <When at={at} isCurrent={id === current} isFirst={id === first} isLast={id === last} />
      ),
    },
    {
      id: 'operation',
      header: words.columns.operation,
      value: ({ operation }) => operation,
      width: 'minmax(80px, 0.6fr)',
      cell: ({ operation }) => <span>{operation ?? common.unknown}</span>,
    },
    {
      id: 'rows',
      header: words.columns.rowChange,
      value: rowsChanged,
      width: 'minmax(104px, 0.8fr)',
      align: 'end',
      cell: (snapshot) => <RowChangeCell snapshot={snapshot} />,
    },
    { ...deltaColumn('files', words.columns.files, formatCount), hideOnPhone: true },
    { ...deltaColumn('bytes', words.columns.size, formatBytes), hideOnPhone: true },
    {
      id: 'refs',
      header: words.columns.refs,
      value: ({ refs }) => refs,
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
      value: ({ snapshot_id: id }) => id,
      width: 'minmax(190px, 1fr)',
      hideOnPhone: true,
      cell: ({ snapshot_id: id }) => <Copyable text={id} what={words.id} />,
    },
  ]
  return onMenu === undefined ? columns : [...columns, menuColumn(current, onMenu)]
}

/** A button with the actions on a snapshot; the current snapshot has none. */
function menuColumn(current: string | null | undefined, onMenu: (place: MenuPlace) => void): ColumnSpec<Snapshot> {
  return {
    id: 'actions',
    header: words.columns.actions,
    value: null,
    headerHidden: true,
    width: '44px',
    cell: ({ snapshot_id: id }) => (id === current ? null : <SnapshotMenuButton id={id} onMenu={onMenu} />),
  }
}

function rowsChanged(snapshot: Snapshot): number {
  const change = rowChange(snapshot)
  return change.kind === 'rewritten' ? 0 : change.added - change.deleted
}

function changeOf(snapshot: Snapshot, what: 'files' | 'bytes'): number {
  const { added, removed } = snapshotDelta(snapshot, what)
  return added - removed
}

/** Files or bytes: fewer of them is neither good nor bad, so the change has no colour. */
function deltaColumn(what: 'files' | 'bytes', header: string, format: (value: number) => string): ColumnSpec<Snapshot> {
  return {
    id: what,
    header,
    value: (snapshot) => changeOf(snapshot, what),
    width: 'minmax(84px, 0.6fr)',
    align: 'end',
    cell: (snapshot) => {
      const { added, removed, total } = snapshotDelta(snapshot, what)
      const change = changeOf(snapshot, what)
      const title = [
        words.deltaTitle(format(added), format(removed)),
        ...(total === undefined ? [] : [words.totalAfter(format(total))]),
      ].join('; ')
      return (
        <span className={change === 0 ? classes.dim : undefined} title={title}>
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
