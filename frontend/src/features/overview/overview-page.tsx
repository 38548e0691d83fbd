import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { configQuery } from '../../api/catalog-config.ts'
import { worstTablesQuery } from '../../api/health-index.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { HealthIndex } from '../../api/types.ts'
import { CatalogSelect } from '../../components/catalog-select.tsx'
import { ConnectLink } from '../../components/connect-link.tsx'
import { Page } from '../../components/page/page.tsx'
import { Figure, FigureRow } from '../../components/status/figure.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { formatBytes, formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { overview as words } from '../../strings/overview.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { AlertsCard } from './alerts-card.tsx'
import { Attention } from './attention.tsx'
import { HealthBands } from './health-bands.tsx'
import { inCatalog } from './in-catalog.ts'
import { NextCard } from './next-card.tsx'
import { OperationsCard } from './operations-card.tsx'
import classes from './overview.module.css'
import { PipelinesCard } from './pipelines-card.tsx'
import { SavingsCard } from './savings-card.tsx'

const page = getRouteApi('/overview')
const WORST = 6

/** The start page: the state of everything, each figure with a link to the list behind it. */
export function OverviewPage() {
  const { catalog } = page.useSearch()
  const navigate = useNavigate({ from: '/overview' })
  const index = useQuery(worstTablesQuery(WORST, catalog))
  useLiveEvents('operation.', () => {
    void refresh('operations')
    void refresh('health-index')
  })
  useLiveEvents('table.', () => void refresh('health-index'))
  useLiveEvents('policy.', () => void refresh('policies'))
  useLiveEvents('pipeline.', () => void refresh(['pipelines', 'overview']))
  return (
    <Page
      title={words.title}
      lead={catalog === undefined ? words.lead : words.leadOf(catalog)}
      aside={index.data && <Currency index={index.data} />}
      actions={
        <CatalogSelect
          value={catalog}
          onChange={(name) => void navigate({ search: name === undefined ? {} : { catalog: name }, replace: true })}
        />
      }
    >
      {index.isPending && <Loading lines={10} />}
      {index.isError && !index.data && <ErrorState error={index.error} onRetry={() => void index.refetch()} />}
      {index.data &&
        (index.data.totals.tables === 0 && catalog === undefined ? (
          <FirstSteps index={index.data} />
        ) : (
          <TableCards index={index.data} catalog={catalog} />
        ))}
    </Page>
  )
}

interface IndexProps {
  readonly index: HealthIndex
}

interface CountedProps extends IndexProps {
  /** The catalog whose tables are counted; undefined: all catalogs. */
  readonly catalog: string | undefined
}

function TableCards({ index, catalog }: CountedProps) {
  const isLead = useCan('LeadDataEngineer')
  return (
    <>
      <Totals index={index} catalog={catalog} />
      <div className={classes.cards}>
        <div className={classes.stack}>
          <Attention index={index} catalog={catalog} />
          <OperationsCard />
          <PipelinesCard />
        </div>
        <div className={classes.stack}>
          <HealthBands bands={index.bands} catalog={catalog} />
          <SavingsCard />
          <NextCard />
          {isLead && <AlertsCard />}
        </div>
      </div>
    </>
  )
}

function Totals({ index: { totals, bands }, catalog }: CountedProps) {
  const { figures } = words
  const isPartial = bands.unknown > 0
  const link = (text: string, search: { readonly sort?: string; readonly health?: 'stale' } = {}): ReactNode => (
    <Link to="/tables" search={{ ...search, ...inCatalog(catalog) }}>
      {text}
    </Link>
  )
  return (
    <FigureRow>
      <Figure label={figures.tables} value={link(formatCount(totals.tables))} />
      <Figure
        label={figures.size}
        value={link(formatBytes(totals.bytes), { sort: '-size' })}
        hint={isPartial ? figures.sizeHint(formatPlural(bands.unknown, 'table')) : undefined}
      />
      <Figure label={figures.small} value={link(formatCount(totals.small_files), { sort: '-small' })} />
      <Figure
        label={figures.held}
        value={link(formatBytes(totals.held_bytes), { sort: '-held' })}
        hint={totals.held_bytes > 0 ? figures.heldHint : undefined}
      />
      {totals.stale > 0 && (
        <Figure
          label={figures.stale}
          value={link(formatCount(totals.stale), { health: 'stale' })}
          hint={figures.staleHint}
          tone="warn"
        />
      )}
    </FigureRow>
  )
}

/** How current the figures are. */
function Currency({ index }: IndexProps) {
  const { checked_at: checkedAt, pending_count: pending, totals } = index
  if (checkedAt === null) return totals.tables === 0 ? null : <span className={classes.dim}>{words.firstLook}</span>
  if (pending > 0) return <span className={classes.dim}>{words.measuringSome(formatPlural(pending, 'table'))}</span>
  return (
    <span className={classes.dim}>
      {words.checked} <RelativeTime at={checkedAt} />
    </span>
  )
}

/** What a lakehouse without measured tables needs first. */
function FirstSteps({ index }: IndexProps) {
  const config = useQuery(configQuery)
  const { first } = words
  if (config.data?.config.configured === false) {
    return (
      <Empty
        title={first.noCatalogTitle}
        detail={first.noCatalog}
        action={<Link to="/settings/catalog">{first.connect}</Link>}
      />
    )
  }
  if (index.checked_at === null || index.pending_count > 0) {
    return <Empty title={first.measuringTitle} detail={first.measuring} />
  }
  return (
    <Empty
      title={first.emptyTitle}
      detail={first.empty}
      action={
        <>
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/tables" />}>
            {first.tables}
          </Button>
          <ConnectLink />
        </>
      }
    />
  )
}
