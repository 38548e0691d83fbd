import type { HistoryEntry, HistoryList } from '../../../api/types.ts'
import { Copyable } from '../../../components/text/copyable.tsx'
import type { ColumnSpec } from '../../../components/table/columns.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import { history as words, snapshots } from '../../../strings/tables.ts'
import { historyQuery } from '../api.ts'
import { PagedTable } from './paged-table.tsx'
import type { TabProps } from './tab-props.ts'
import { usePaged } from './use-paged.ts'

const entriesOf = (page: HistoryList): readonly HistoryEntry[] => page.history

/** When which snapshot was current, those that were rolled back included. */
export function HistoryTab({ table, search, onSearch }: TabProps) {
  const paged = usePaged(historyQuery(table), entriesOf)
  return (
    <PagedTable
      list="history"
      label={words.label}
      empty={words.empty}
      paged={paged}
      rowKey={({ made_current_at, snapshot_id }) => `${made_current_at} ${snapshot_id}`}
      columns={columns}
      search={search}
      onSearch={onSearch}
    />
  )
}

const columns: readonly ColumnSpec<HistoryEntry>[] = [
  {
    id: 'at',
    header: words.columns.at,
    value: ({ made_current_at: at }) => at,
    width: 'minmax(110px, 1fr)',
    cell: ({ made_current_at }) => (
      <span>
        <RelativeTime at={made_current_at} />
      </span>
    ),
  },
  {
    id: 'snapshot',
    header: words.columns.snapshot,
    value: ({ snapshot_id: id }) => id,
    width: 'minmax(150px, 1.5fr)',
    cell: ({ snapshot_id }) => <Copyable text={snapshot_id} what={snapshots.id} />,
  },
  {
    id: 'parent',
    header: words.columns.parent,
    value: ({ parent_id: id }) => id,
    width: 'minmax(150px, 1.5fr)',
    hideOnPhone: true,
    cell: ({ parent_id }) =>
      parent_id === null ? <span>{common.unknown}</span> : <Copyable text={parent_id} what={snapshots.id} />,
  },
  {
    id: 'ancestor',
    header: words.columns.ancestor,
    value: ({ is_current_ancestor: isAncestor }) => isAncestor,
    width: 'minmax(130px, 1fr)',
    hideOnPhone: true,
    cell: ({ is_current_ancestor }) => <span>{is_current_ancestor ? words.yes : words.no}</span>,
  },
]
