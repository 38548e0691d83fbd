import { Tabs } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ApiError } from '../../api/api-error.ts'
import { useCan } from '../../api/session.ts'
import { Page } from '../../components/page.tsx'
import { Empty, ErrorState, Loading } from '../../components/states.tsx'
import { definitionPageStrings as words, definitionStrings } from '../../strings/designer.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { definitionQuery, useLiveDefinitions, versionsQuery } from './api.ts'
import { DefinitionActions } from './definition-actions.tsx'
import { EnvironmentsTab } from './environments-tab.tsx'
import { GraphTab } from './graph-tab.tsx'
import { VersionsTab } from './versions-tab.tsx'
import classes from './board.module.css'

const TABS = ['graph', 'environments', 'versions'] as const
const CRUMBS = [{ label: definitionStrings.title, to: '/definitions' }]

/** Room for the canvas and what stands beside it; below, they stand under each other and the page scrolls. */
const WIDE = '(min-width: 56.01em)'

/** A definition: its graph, where its versions are, and all of them. */
export function DefinitionPage() {
  const { id = '' } = useParams({ strict: false })
  useLiveDefinitions()
  const row = useQuery(definitionQuery(id))
  const versions = useQuery(versionsQuery(id))
  const canEdit = useCan('DataEngineer')
  const isWide = useMediaQuery(WIDE, globalThis.matchMedia(WIDE).matches) ?? true
  const [{ tab: wanted }, changeSearch] = useSearchParams()
  const tab = TABS.find((one) => one === wanted) ?? 'graph'
  const error = row.data && versions.data ? null : (row.error ?? versions.error)
  if (error || !row.data || !versions.data) {
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
  return (
    <Page
      title={row.data.name}
      lead={row.data.description}
      crumbs={CRUMBS}
      actions={canEdit && <DefinitionActions row={row.data} versionCount={versions.data.length} />}
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
          <GraphTab definitionId={id} versions={versions.data} />
        </Tabs.Panel>
        <Tabs.Panel value="environments" className={classes.tabPanel ?? ''}>
          <EnvironmentsTab row={row.data} versions={versions.data} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" className={classes.tabPanel ?? ''}>
          <VersionsTab definitionId={id} versions={versions.data} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (!(error instanceof ApiError && error.status === 404)) return <ErrorState error={error} onRetry={onRetry} />
  const { title, text, link } = definitionStrings.notFound
  return <Empty title={title} detail={text} action={<Link to="/definitions">{link}</Link>} />
}
