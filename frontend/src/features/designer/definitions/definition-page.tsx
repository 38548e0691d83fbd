import { Tabs } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useDeferredValue } from 'react'
import { isMissing } from '../../../api/api-error.ts'
import { useCan } from '../../../api/session.ts'
import type { BoardRow, VersionSummary } from '../../../api/types.ts'
import { Page } from '../../../components/page/page.tsx'
import { Empty, ErrorState, Loading } from '../../../components/status/states.tsx'
import { managedNotice } from '../../../strings/everywhere/managed.ts'
import { definitionPageStrings as words, definitionStrings } from '../../../strings/pipelines/designer.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { definitionQuery } from '../../../api/definitions.ts'
import { useLiveDefinitions, versionsQuery } from '../api.ts'
import { DEFINITION_TABS as TABS } from '../board.ts'
import { DefinitionActions } from './definition-actions.tsx'
import { EnvironmentsTab } from '../versions/environments-tab.tsx'
import { GraphTab } from '../editor/graph-tab.tsx'
import { VersionsTab } from '../versions/versions-tab.tsx'
import classes from '../board.module.css'

const CRUMBS = [{ label: definitionStrings.title, to: '/definitions' }]

/** The width for the graph and its side panels; on narrower screens they are stacked and the page scrolls. */
const WIDE = '(min-width: 56.01em)'

/** A definition: its graph, its environments and its versions. */
export function DefinitionPage() {
  const { id = '' } = useParams({ strict: false })
  useLiveDefinitions()
  const row = useQuery(definitionQuery(id))
  const versions = useQuery(versionsQuery(id))
  const isReady = useDeferredValue(row.data !== undefined && versions.data !== undefined, false) // renders in small steps
  if (isReady && row.data && versions.data) return <LoadedDefinition row={row.data} versions={versions.data} />
  const error = row.error ?? versions.error
  return (
    <Page title={words.fallbackTitle} crumbs={CRUMBS}>
      {error ? (
        <Failure error={error} onRetry={() => void Promise.all([row.refetch(), versions.refetch()])} />
      ) : (
        <Loading />
      )}
    </Page>
  )
}

interface LoadedDefinitionProps {
  readonly row: BoardRow
  /** Newest first. */
  readonly versions: readonly VersionSummary[]
}

function LoadedDefinition({ row, versions }: LoadedDefinitionProps) {
  const notice = managedNotice(row)
  const canEdit = useCan('DataEngineer') && notice === undefined
  const isWide = useMediaQuery(WIDE, globalThis.matchMedia(WIDE).matches) ?? true
  const [{ tab: wanted }, changeSearch] = useSearchParams()
  const tab = TABS.find((one) => one === wanted) ?? 'graph'
  return (
    <Page
      title={row.name}
      lead={[row.description, notice].join(' ').trim()}
      crumbs={CRUMBS}
      actions={canEdit && <DefinitionActions row={row} versionCount={versions.length} />}
      fill={tab === 'versions' || (tab === 'graph' && isWide)}
    >
      <Tabs
        className={classes.tabs ?? ''}
        value={tab}
        keepMounted={false}
        onChange={(next) => changeSearch({ tab: next === 'graph' ? undefined : (next ?? undefined), node: undefined })}
      >
        <Tabs.List>
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {words.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="graph" className={classes.tabPanel ?? ''}>
          <GraphTab definitionId={row.id} versions={versions} readOnly={!canEdit} />
        </Tabs.Panel>
        <Tabs.Panel value="environments" className={classes.tabPanel ?? ''}>
          <EnvironmentsTab row={row} versions={versions} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" className={classes.tabPanel ?? ''}>
          <VersionsTab definitionId={row.id} versions={versions} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (!isMissing(error)) return <ErrorState error={error} onRetry={onRetry} />
  const { title, text, link } = definitionStrings.notFound
  return <Empty title={title} detail={text} action={<Link to="/definitions">{link}</Link>} />
}
