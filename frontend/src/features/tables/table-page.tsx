import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type ComponentType, lazy, Suspense } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { CopyIconButton } from '../../components/copyable.tsx'
import { Page } from '../../components/page.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { table as words, tables } from '../../strings/tables.ts'
import { ActionsMenu } from './actions/actions-menu.tsx'
import { isActionKind } from './actions/action-specs.ts'
import { overviewQuery } from './api.ts'
import { MissingTable } from './missing-table.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { TABLE_TABS, type TableSearch, type TableTab } from './search.ts'
import classes from './table-page.module.css'
import type { TabProps } from './tab-props.ts'

const page = getRouteApi('/tables/$table')

const ActionDrawer = lazy(async () => ({ default: (await import('./actions/action-drawer.tsx')).ActionDrawer }))

const TABS: Readonly<Record<TableTab, ComponentType<TabProps>>> = {
  overview: OverviewTab,
  schema: lazy(async () => ({ default: (await import('./schema-tab.tsx')).SchemaTab })),
  health: lazy(async () => ({ default: (await import('./health-tab.tsx')).HealthTab })),
  snapshots: lazy(async () => ({ default: (await import('./snapshots/snapshots-tab.tsx')).SnapshotsTab })),
  files: lazy(async () => ({ default: (await import('./files-tab.tsx')).FilesTab })),
  partitions: lazy(async () => ({ default: (await import('./partitions-tab.tsx')).PartitionsTab })),
  refs: lazy(async () => ({ default: (await import('./refs-tab.tsx')).RefsTab })),
  history: lazy(async () => ({ default: (await import('./history-tab.tsx')).HistoryTab })),
  properties: lazy(async () => ({ default: (await import('./properties-tab.tsx')).PropertiesTab })),
}

/** Views that are as long as they are; in the others a list takes the height that is left. */
const FLOWING: readonly TableTab[] = ['overview', 'health']

const ACTION_CLOSED = { action: '', recommended: '', target: '', op: '' } as const

/** One table: its views as tabs, and what can be done to it in a drawer at the side. */
export function TablePage() {
  const { table } = page.useParams()
  const search = page.useSearch()
  const navigate = useNavigate({ from: '/tables/$table' })
  const change = (part: TableSearch | typeof ACTION_CLOSED, replace = false): void => {
    void navigate({ search: (before) => ({ ...before, ...part }), replace })
  }
  const overview = useQuery(overviewQuery(table))
  const { tab = 'overview', action } = search
  const Tab = TABS[tab]
  return (
    <Page
      title={table}
      aside={<CopyIconButton text={table} what={words.name} />}
      crumbs={[{ label: tables.title, to: '/tables' }]}
      actions={!overview.isError && <ActionsMenu onChoose={(kind) => change({ ...ACTION_CLOSED, action: kind })} />}
      fill={!FLOWING.includes(tab)}
    >
      {overview.isError ? (
        <TableError table={table} error={overview.error} onRetry={() => void overview.refetch()} />
      ) : (
        <Tabs
          value={tab}
          onChange={(next) => next !== null && change(tabSearch(next))}
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
                onSearch={(part) => change(part, true)}
                onAction={(kind, given) => change({ ...ACTION_CLOSED, action: kind, ...given })}
              />
            </Suspense>
          </Tabs.Panel>
        </Tabs>
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

function TableError({
  table,
  error,
  onRetry,
}: {
  readonly table: string
  readonly error: unknown
  readonly onRetry: () => void
}) {
  const isMissing = error instanceof ApiError && error.status === 404
  return isMissing ? <MissingTable table={table} /> : <ErrorState error={error} onRetry={onRetry} />
}

/** Filters and orders belong to the tab that is left. */
function tabSearch(tab: string): TableSearch {
  return { tab: TABLE_TABS.find((name) => name === tab) ?? 'overview', sort: '', q: '' }
}
