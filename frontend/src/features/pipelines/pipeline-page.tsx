import { List, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { isMissing } from '../../api/api-error.ts'
import type { Pipeline } from '../../api/types.ts'
import { Figure, FigureRow } from '../../components/status/figure.tsx'
import { Note } from '../../components/status/note.tsx'
import { Page } from '../../components/page/page.tsx'
import { RelativeTime, useNow } from '../../time/relative-time.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { formatBytes, formatCount, formatDuration, formatPlural } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { definitionQuery } from '../../api/definitions.ts'
import { pipelineQuery, versionsQuery } from './api.ts'
import { ChartsTab } from './charts-tab.tsx'
import { formatLag, formatRate, whatItDoes } from './figures.ts'
import { HistoryTab } from './history-tab.tsx'
import { nameOf } from './live-cells.tsx'
import { LiveDot, NotLiveNote } from './monitor/live-status.tsx'
import { lastBatch, type LiveRow } from './monitor/state.ts'
import { useLiveRow, useMonitor } from './monitor/store.ts'
import { isMerging, usePipelineModes } from './modes.ts'
import { PipelineActions } from './pipeline-actions.tsx'
import { currentRate, isLagKnown } from './pipeline-life.ts'
import { PIPELINE_TABS as TABS } from './pipeline-tabs.ts'
import { PipelineState } from './pipeline-state.tsx'
import { ProgressTab } from './progress-tab.tsx'
import { isIdle, lastSampleOf, type Sample } from './monitor/sample.ts'
import { SettingsTab } from './settings-tab.tsx'

const detail = words.detail
const CRUMBS = [{ label: words.title, to: '/pipelines' }]

/** A pipeline, live. */
export function PipelinePage() {
  const { id = '' } = useParams({ strict: false })
  const connection = useMonitor()
  const live = useLiveRow(id)
  const asked = useQuery(pipelineQuery(id))
  const pipeline = live?.pipeline ?? asked.data
  if (pipeline === undefined) {
    return (
      <Page title={detail.title} crumbs={CRUMBS}>
        {asked.isError ? <Unknown error={asked.error} onRetry={() => void asked.refetch()} /> : <Loading />}
      </Page>
    )
  }
  return (
    <Page
      title={nameOf(pipeline)}
      crumbs={CRUMBS}
      aside={
        <>
          <PipelineState state={pipeline.state} />
          <LiveDot connection={connection} />
        </>
      }
      lead={<RunsVersion pipeline={pipeline} />}
      actions={<PipelineActions pipeline={pipeline} />}
    >
      <NotLiveNote connection={connection} />
      <Troubles pipeline={pipeline} />
      <Figures pipeline={pipeline} live={live} />
      <DetailTabs pipeline={pipeline} live={live} />
    </Page>
  )
}

/** The version that a pipeline runs, or what it reads and writes. */
function RunsVersion({ pipeline }: { readonly pipeline: Pipeline }) {
  const { definition_id: id, version_id: versionId } = pipeline
  const { data: row } = useQuery({ ...definitionQuery(id ?? ''), enabled: id !== null })
  const { data: versions } = useQuery({ ...versionsQuery(id ?? ''), enabled: id !== null })
  if (id === null) return whatItDoes(pipeline)
  const version = versions?.find((one) => one.id === versionId)
  return (
    <>
      {words.detail.runs}{' '}
      <Link to="/definitions/$id" params={{ id }} search={{ version: versionId ?? undefined }}>
        {row && version ? words.detail.versionOf(version.version, row.name) : words.detail.aVersion}
      </Link>
    </>
  )
}

function Unknown({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  if (!isMissing(error)) return <ErrorState error={error} onRetry={onRetry} />
  return (
    <Empty
      title={detail.notFoundTitle}
      detail={detail.notFound}
      action={<Link to="/pipelines">{detail.toList}</Link>}
    />
  )
}

function Troubles({ pipeline: { error, state, warnings } }: { readonly pipeline: Pipeline }) {
  return (
    <>
      {error && (
        <Note tone={state === 'failed' ? 'bad' : 'warn'} live="status" title={detail.errorTitle(error.code)}>
          {[error.message, state === 'degraded' ? detail.errorDegraded : '', detail.errorHelp[error.code] ?? '']
            .filter(Boolean)
            .map((line) => (
              <div key={line}>{line}</div>
            ))}
        </Note>
      )}
      {warnings.length > 0 && (
        <Note tone="warn" title={detail.warnings}>
          <List size="sm">
            {warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Note>
      )}
    </>
  )
}

function Figures({ pipeline, live }: { readonly pipeline: Pipeline; readonly live: LiveRow | undefined }) {
  const last = lastSampleOf(pipeline)
  const modes = usePipelineModes(pipeline)
  const batch = lastBatch(live) ?? (last && !isIdle(last) ? last : undefined)
  const now = useNow()
  return (
    <FigureRow>
      <Figure
        label={detail.rate}
        value={formatRate(currentRate(pipeline, last, now.getTime()))}
        hint={batch && detail.rateHint(formatPlural(batch.rows, 'row'))}
      />
      <LagFigure pipeline={pipeline} last={last} />
      <Figure
        label={detail.duration}
        value={batch ? formatDuration(batch.durationMs) : words.none}
        hint={detail.durationHint(pipeline.trigger_interval)}
      />
      <Figure
        label={detail.batch}
        value={batch ? formatCount(batch.batchId) : words.none}
        hint={batch && <RelativeTime at={new Date(batch.atMs).toISOString()} />}
      />
      {batch && isMerging(modes, live?.samples.toArray() ?? [batch]) && <MergedFigure batch={batch} />}
    </FigureRow>
  )
}

/** What the last batch did to the rows of the sink. */
function MergedFigure({ batch: { merged } }: { readonly batch: Sample }) {
  const { inserted, updated, deleted } = merged
  return (
    <Figure
      label={detail.merged}
      value={detail.mergedValue(formatCount(inserted))}
      hint={detail.mergedHint(formatCount(updated), formatCount(deleted))}
    />
  )
}

function LagFigure({ pipeline, last }: { readonly pipeline: Pipeline; readonly last: Sample | undefined }) {
  if (!isLagKnown(pipeline)) return <Figure label={detail.lag} value={words.none} />
  const lag = pipeline.last_progress?.sources.map((source) => source.lag) ?? []
  const sum = (part: 'files' | 'bytes'): number => lag.reduce((total, one) => total + one[part], 0)
  const isBehind = last !== undefined && last.lagRows > 0
  const hint =
    isBehind &&
    detail.lagHint(formatPlural(last.lagRows, 'row'), formatPlural(sum('files'), 'file'), formatBytes(sum('bytes')))
  return <Figure label={detail.lag} value={formatLag(last)} hint={hint} />
}

function DetailTabs({ pipeline, live }: { readonly pipeline: Pipeline; readonly live: LiveRow | undefined }) {
  const [search, changeSearch] = useSearchParams()
  const tab = TABS.find((one) => one === search['tab']) ?? 'charts'
  const open = (next: string | null): void => changeSearch({ tab: next === 'charts' ? undefined : (next ?? undefined) })
  return (
    <Tabs value={tab} onChange={open} keepMounted={false}>
      <Tabs.List mb="md">
        {TABS.map((one) => (
          <Tabs.Tab key={one} value={one}>
            {detail.tabs[one]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="charts">
        <ChartsTab pipeline={pipeline} live={live} />
      </Tabs.Panel>
      <Tabs.Panel value="history">
        <HistoryTab pipeline={pipeline} />
      </Tabs.Panel>
      <Tabs.Panel value="progress">
        <ProgressTab pipeline={pipeline} />
      </Tabs.Panel>
      <Tabs.Panel value="settings">
        <SettingsTab pipeline={pipeline} />
      </Tabs.Panel>
    </Tabs>
  )
}
