import { Autocomplete, SegmentedControl, Select } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useQueries, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useState } from 'react'
import { isMissing } from '../../api/api-error.ts'
import { lineageQuery } from '../../api/lineage.ts'
import { tableNamesQuery } from '../../api/tables.ts'
import type { Lineage } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { mergeLineage } from './graph-model.ts'
import classes from './lineage.module.css'
import { LineageList } from './lineage-list.tsx'
import { DEFAULT_DEPTH, DEPTHS, DIRECTIONS, type LineageSearch, VIEWS } from './search.ts'

const texts = words.page
const route = getRouteApi('/lineage')
const PHONE = '(max-width: 48em)'
/** Drawn nodes: a larger graph is not readable. */
const MAX_NODES = 300

const Explorer = lazy(async () => ({ default: (await import('./explorer.tsx')).LineageExplorer }))

/** The lineage of a table or of the whole lake, as a graph or a list. */
export function LineagePage() {
  const search = route.useSearch()
  const isPhone = useMediaQuery(PHONE, globalThis.matchMedia(PHONE).matches)
  const view = search.view ?? (isPhone ? 'list' : 'graph')
  const { table, direction, depth = DEFAULT_DEPTH } = search
  const around = table === undefined ? {} : { table, direction, depth: Number(depth) }
  const asked = useQuery(lineageQuery({ ...around, limit: MAX_NODES }))
  return (
    <Page title={words.title} lead={words.lead} fill={view === 'graph'}>
      <Controls search={search} view={view} />
      {asked.isError && <Failure error={asked.error} onRetry={() => void asked.refetch()} />}
      {asked.isPending && <Loading lines={8} />}
      {asked.data && !asked.isError && <Content key={table ?? ''} answer={asked.data} view={view} />}
    </Page>
  )
}

interface ContentProps {
  readonly answer: Lineage
  readonly view: (typeof VIEWS)[number]
}

/** The answer, and those for tables that were expanded since. */
function Content({ answer, view }: ContentProps) {
  const [expanded, setExpanded] = useState<readonly string[]>([])
  const more = useQueries({
    queries: expanded.map((table) => lineageQuery({ table, depth: 1, limit: MAX_NODES })),
    combine: (results) => results.flatMap(({ data }) => (data === undefined ? [] : [data])),
  })
  const graph = useMemo(() => mergeLineage([answer, ...more]), [answer, more])
  if (graph.flows.size === 0)
    return <Empty title={texts.empty} detail={answer.table === null ? texts.emptyText : words.nothing} />
  const similar = answer.similar_tables
  return (
    <>
      {answer.truncated && <Notice tone="info">{texts.truncated(graph.tables.size + graph.flows.size)}</Notice>}
      {similar.length > 0 && <Notice tone="info">{words.similar(similar.join(', '))}</Notice>}
      {view === 'list' ? (
        <LineageList graph={graph} />
      ) : (
        <Suspense fallback={<Loading lines={8} />}>
          <Explorer
            graph={graph}
            focus={answer.table ?? undefined}
            onExpand={(table) => setExpanded((before) => [...new Set([...before, table])])}
          />
        </Suspense>
      )}
    </>
  )
}

function Controls({ search, view }: { readonly search: LineageSearch; readonly view: ContentProps['view'] }) {
  const [, change] = useSearchParams()
  const { data: names = [] } = useQuery(tableNamesQuery)
  const [typed, setTyped] = useState<string>()
  const choose = (table: string): void => {
    setTyped(undefined)
    change({ table: table.trim() === '' ? undefined : table.trim() })
  }
  return (
    <div className={classes.controls}>
      <Autocomplete
        className={classes.table ?? ''}
        size="xs"
        label={texts.table}
        placeholder={texts.tablePlaceholder}
        data={names}
        limit={50}
        clearable
        value={typed ?? search.table ?? ''}
        onChange={setTyped}
        onClear={() => choose('')}
        onOptionSubmit={choose}
        onKeyDown={(event) => event.key === 'Enter' && choose(event.currentTarget.value)}
        onBlur={(event) => choose(event.currentTarget.value)}
      />
      {search.table !== undefined && (
        <>
          <SegmentedControl
            size="xs"
            aria-label={texts.direction}
            data={DIRECTIONS.map((value) => ({ value, label: texts.directions[value] }))}
            value={search.direction ?? 'both'}
            onChange={(direction) => change({ direction })}
          />
          <Select
            size="xs"
            w="9rem"
            label={texts.depth}
            data={DEPTHS}
            allowDeselect={false}
            value={search.depth ?? DEFAULT_DEPTH}
            onChange={(depth) => change({ depth: depth ?? undefined })}
          />
        </>
      )}
      <SegmentedControl
        size="xs"
        aria-label={texts.view}
        data={VIEWS.map((value) => ({ value, label: texts.views[value] }))}
        value={view}
        onChange={(value) => change({ view: value })}
      />
    </div>
  )
}

function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (isMissing(error)) return <Empty title={texts.unknownTable} detail={texts.unknownText} />
  return <ErrorState error={error} onRetry={onRetry} />
}
