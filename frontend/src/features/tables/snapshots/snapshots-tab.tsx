import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { useCan } from '../../../api/session.ts'
import type { Snapshot, SnapshotList } from '../../../api/types.ts'
import { Note } from '../../../components/status/note.tsx'
import { snapshots as words } from '../../../strings/tables.ts'
import { overviewQuery, snapshotsQuery } from '../api.ts'
import { PagedTable } from '../tabs/paged-table.tsx'
import type { TabProps } from '../tabs/tab-props.ts'
import { usePaged } from '../tabs/use-paged.ts'
import { RestoreToTime } from './restore-to-time.tsx'
import { RowsChart } from './rows-chart.tsx'
import { snapshotColumns } from './snapshot-columns.tsx'
import { type MenuPlace, SnapshotMenu } from './snapshot-menu.tsx'

const snapshotsOf = (page: SnapshotList): readonly Snapshot[] => page.snapshots

/** Snapshots as a timeline, newest first, with their changes, refs and actions. */
export function SnapshotsTab({ table, search, onSearch, onAction }: TabProps) {
  const paged = usePaged(snapshotsQuery(table), snapshotsOf)
  const current = useQuery(overviewQuery(table)).data?.current_snapshot_id
  const canExpire = useCan('DataEngineer')
  const canRollBack = useCan('LeadDataEngineer')
  const [menu, setMenu] = useState<MenuPlace>()
  const closeMenu = useCallback(() => setMenu(undefined), [])
  const first = paged.items[0]?.snapshot_id
  const last = paged.hasMore ? undefined : paged.items.at(-1)?.snapshot_id
  const columns = useMemo(
    () => snapshotColumns({ current, first, last, onMenu: canExpire ? setMenu : undefined }),
    [current, first, last, canExpire],
  )
  const hasRewrites = paged.items.some(({ operation }) => operation === 'replace')
  return (
    <>
      <RowsChart snapshots={paged.items} current={current} hasMore={paged.hasMore} />
      {canRollBack && <RestoreToTime table={table} onAction={onAction} />}
      {hasRewrites && <Note tone="info">{words.replaceHelp}</Note>}
      <PagedTable
        list="snapshots"
        label={words.label}
        empty={words.empty}
        paged={paged}
        rowKey={({ snapshot_id }) => snapshot_id}
        columns={columns}
        search={search}
        onSearch={onSearch}
      />
      {menu && <SnapshotMenu place={menu} onAction={onAction} onClose={closeMenu} />}
    </>
  )
}
