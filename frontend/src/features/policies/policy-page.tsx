import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { isMissing } from '../../api/api-error.ts'
import { useLiveEvents } from '../../api/live-events.ts'
import { useCan } from '../../api/session.ts'
import { refresh } from '../../api/actions/refresh.ts'
import type { Policy } from '../../api/types.ts'
import { Page } from '../../components/page/page.tsx'
import { Figure, FigureRow } from '../../components/status/figure.tsx'
import { Money } from '../../components/status/money.tsx'
import { Empty, ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { formatBytes, formatCount, formatMilliseconds } from '../../strings/everywhere/units.ts'
import { policies as words } from '../../strings/policies.ts'
import { nextRunsQuery, policyQuery } from './api.ts'
import { DecisionList } from './decision-list.tsx'
import { PolicyActions } from './policy-actions.tsx'
import { isEditable } from './policy-dialogs.ts'
import { PolicyFacts } from './policy-facts.tsx'
import classes from './policies.module.css'
import { RunsTable } from './runs-table.tsx'
import { SuspendedNotice } from './suspended-notice.tsx'

const page = getRouteApi('/policies/$id')
const CRUMBS = [{ label: words.title, to: '/policies' }]

/** One policy: what it does next, what it decided and gained, and its settings. */
export function PolicyPage() {
  const { id } = page.useParams()
  const { data, error, isError, refetch } = useQuery(policyQuery(id))
  useLiveEvents('policy.', () => void refresh('policies'))
  if (data) return <Details policy={data} />
  return (
    <Page title={words.one} crumbs={CRUMBS}>
      {isError && isMissing(error) && (
        <Empty
          title={words.missing.title}
          detail={words.missing.text}
          action={<Link to="/policies">{words.missing.link}</Link>}
        />
      )}
      {isError && !isMissing(error) && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!isError && <Loading />}
    </Page>
  )
}

function Details({ policy }: { readonly policy: Policy }) {
  const isLead = useCan('LeadDataEngineer')
  const { mode } = policy
  return (
    <Page
      title={policy.name}
      crumbs={CRUMBS}
      aside={<StatusDot tone={mode === 'active' ? 'ok' : 'idle'} label={words.modes[mode]} />}
      lead={[words.modeHelp[mode], managedNotice(policy)].join(' ')}
      actions={isLead && isEditable(policy) && <PolicyActions policy={policy} />}
    >
      {policy.suspended_tables > 0 && <SuspendedNotice policy={policy} canResume={isLead} />}
      <div className={classes.columns}>
        <div className={classes.section}>
          <NextRuns policy={policy} />
        </div>
        <div className={classes.section}>
          <Gains policy={policy} />
          <PolicyFacts policy={policy} />
        </div>
      </div>
      <DecisionList id={policy.id} />
    </Page>
  )
}

function NextRuns({ policy }: { readonly policy: Policy }) {
  const next = useQuery(nextRunsQuery(policy))
  return (
    <section className={classes.section}>
      <Title order={2}>{policy.mode === 'active' ? words.next.title : words.next.shadowTitle}</Title>
      {next.isPending && <Loading lines={3} />}
      {next.isError && <ErrorState error={next.error} onRetry={() => void next.refetch()} />}
      {next.data && <RunsTable preview={next.data} />}
      <p className={classes.dimmed}>{words.next.help}</p>
    </section>
  )
}

function Gains({ policy: { gains, mode } }: { readonly policy: Policy }) {
  const { gains: texts } = words
  return (
    <section className={classes.section}>
      <Title order={2}>{texts.title}</Title>
      {gains.runs === 0 && mode === 'shadow' ? (
        <p className={classes.dimmed}>{texts.shadow}</p>
      ) : (
        <>
          <FigureRow>
            <Figure label={texts.runs} value={formatCount(gains.runs)} />
            <Figure
              label={texts.files}
              value={formatCount(gains.files_removed)}
              hint={texts.projected(formatCount(gains.projected.files_removed))}
            />
            <Figure
              label={texts.deletes}
              value={formatCount(gains.delete_files_removed)}
              hint={texts.projected(formatCount(gains.projected.delete_files_removed))}
            />
            <Figure
              label={texts.freed}
              value={formatBytes(gains.bytes_freed)}
              hint={gains.projected.bytes_freed !== 0 && texts.projected(formatBytes(gains.projected.bytes_freed))}
            />
            <Figure label={texts.rewritten} value={formatBytes(gains.bytes_rewritten)} />
            <Figure label={texts.storage} value={formatBytes(gains.storage_freed_bytes)} />
            <Figure label={texts.planning} value={formatMilliseconds(gains.planning_saved_ms)} />
            <Figure label={texts.requests} value={formatCount(gains.scan_requests_saved)} />
          </FigureRow>
          {gains.money !== null && <Money money={gains.money} />}
        </>
      )}
    </section>
  )
}
