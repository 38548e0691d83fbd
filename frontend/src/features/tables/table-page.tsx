import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense } from 'react'
import { isMissing } from '../../api/api-error.ts'
import { CopyIconButton } from '../../components/text/copyable.tsx'
import { Page } from '../../components/page/page.tsx'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { table as words, tables } from '../../strings/tables.ts'
import { LineageStrip } from '../lineage/lineage-strip.tsx'
import { ActionsMenu } from './actions/actions-menu.tsx'
import { isActionKind } from './actions/action-specs.ts'
import { overviewQuery } from './api.ts'
import { MissingTable } from './missing-table.tsx'
import { OverviewTab } from './tabs/overview-tab.tsx'
import { ACTION_CLOSED, TABLE_TABS, tabSearch, type TableSearch, type TableTab } from './search.ts'
import classes from './table-page.module.css'
import type { TabProps } from './tabs/tab-props.ts'

const page = getRouteApi('/tables/$table')

const ActionDrawer = lazy(async () => ({ default: (await import('./actions/action-drawer.tsx')).ActionDrawer }))

const TABS: Readonly<Record<TableTab, ComponentType<TabProps>>> = {
  overview: OverviewTab,
  schema: lazy(async () => ({ default: (await import('./tabs/schema-tab.tsx')).SchemaTab })),
  rows: lazy(async () => ({ default: (await import('./tabs/rows/rows-tab.tsx')).RowsTab })),
  statistics: lazy(async () => ({ default: (await import('./tabs/statistics/statistics-tab.tsx')).StatisticsTab })),
  health: lazy(async () => ({ default: (await import('./tabs/health/health-tab.tsx')).HealthTab })),
  snapshots: lazy(async () => ({ default: (await import('./snapshots/snapshots-tab.tsx')).SnapshotsTab })),
  files: lazy(async () => ({ default: (await import('./tabs/files-tab.tsx')).FilesTab })),
  partitions: lazy(async () => ({ default: (await import('./tabs/partitions-tab.tsx')).PartitionsTab })),
  refs: lazy(async () => ({ default: (await import('./tabs/refs-tab.tsx')).RefsTab })),
  history: lazy(async () => ({ default: (await import('./tabs/history-tab.tsx')).HistoryTab })),
  properties: lazy(async () => ({ default: (await import('./tabs/properties-tab.tsx')).PropertiesTab })),
}

/** Tabs that scroll with the page; in the others a list fills the available height. */
const FLOWING: readonly TableTab[] = ['overview', 'health', 'statistics']

/** Changes a part of the search parameters; with `replace`, without a new entry in the history. */
type ChangeSearch = (part: TableSearch | typeof ACTION_CLOSED, replace?: boolean) => void

/** One table: its views as tabs, and what can be done to it in a drawer at the side. */
export function TablePage() {
  const { table } = page.useParams()
  const search = page.useSearch()
  const navigate = useNavigate({ from: '/tables/$table' })
  const change: ChangeSearch = (part, replace = false) => {
    void navigate({ search: (before) => ({ ...before, ...part }), replace })
  }
  const overview = useQuery(overviewQuery(table))
  const { tab = 'overview', action } = search
  return (
    <Page
      title={table}
      aside={<CopyIconButton text={table} what={words.name} />}
      lead={!overview.isError && <LineageStrip table={table} />}
      crumbs={[{ label: tables.title, to: '/tables' }]}
      actions={!overview.isError && <ActionsMenu onChoose={(kind) => change({ ...ACTION_CLOSED, action: kind })} />}
      fill={!FLOWING.includes(tab)}
    >
      {overview.isError ? (
        <TableError table={table} error={overview.error} onRetry={() => void overview.refetch()} />
      ) : (
        <TableTabs table={table} search={search} onChange={change} />
      )}
      {isActionKind(action) && !overview.isError && (
        <Suspense fallback={null}>
          <ActionDrawer
            key={`${action} ${search.target ?? ''} ${search.recommended ?? ''}`}
            table={table}
            kind={action}
            search={search}
            onChange={(part) => change(part, true)}
            onClose={() => change(ACTION_CLOSED)}
          />
        </Suspense>
      )}
    </Page>
  )
}

interface TableTabsProps {
  readonly table: string
  readonly search: TableSearch
  readonly onChange: ChangeSearch
}

function TableTabs({ table, search, onChange }: TableTabsProps) {
  const { tab = 'overview' } = search
  const Tab = TABS[tab]
  return (
    <Tabs
      value={tab}
      onChange={(next) => next !== null && onChange(tabSearch(next))}
      className={classes.panel}
      keepMounted={false}
    >
      <div className={classes.tabs}>
        <Tabs.List aria-label={words.tabsLabel}>
          {TABLE_TABS.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {words.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </div>
      <Tabs.Panel value={tab} className={classes.panel}>
        <Suspense fallback={<Loading />}>
          <Tab
            table={table}
            search={search}
            onSearch={(part) => onChange(part, true)}
            onAction={(kind, given) => onChange({ ...ACTION_CLOSED, action: kind, ...given })}
          />
        </Suspense>
      </Tabs.Panel>
    </Tabs>
  )
}

function TableError({
  table,
  error,
  onRetry,
}: {
  readonly table: string
  readonly error: unknown
  readonly onRetry: () => void
}) {
  return isMissing(error) ? <MissingTable table={table} /> : <ErrorState error={error} onRetry={onRetry} />
}
