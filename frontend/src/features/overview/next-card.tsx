import { Title } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Policy } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { overview } from '../../strings/overview.ts'
import { latestDecisionsQuery, nextRunsQuery, policiesQuery } from '../policies/api.ts'
import { PlannedTime } from '../policies/planned-time.tsx'
import { OUTCOME_TONES } from '../policies/policy-words.ts'
import { byTime, type NextRun, nextRuns } from './next-runs.ts'
import classes from './overview.module.css'

const words = overview.next
/** Policies whose next runs are read, the highest priority first. */
const MAX_POLICIES = 5
const SHOWN = 5

/** The next runs of the policies within 24 hours. */
export function NextCard() {
  const list = useQuery(policiesQuery)
  return (
    <section className={classes.card} aria-labelledby="overview-next">
      <Title order={2} id="overview-next">
        {words.title}
      </Title>
      {list.isError && !list.data && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={3} />}
      {list.data?.length === 0 && <p className={classes.dim}>{words.noPolicies}</p>}
      {list.data && list.data.length > 0 && <Policies policies={list.data} />}
      <Link to="/policies">{words.all}</Link>
    </section>
  )
}

function Policies({ policies }: { readonly policies: readonly Policy[] }) {
  const active = policies.filter(({ mode }) => mode === 'active').length
  const suspended = policies.filter(({ suspended_tables: tables }) => tables > 0)
  return (
    <>
      <p className={classes.dim}>
        {words.modes(
          formatPlural(policies.length, 'policy', 'policies'),
          formatCount(active),
          formatCount(policies.length - active),
        )}
      </p>
      {suspended.length > 0 && (
        <ul className={classes.lines}>
          {suspended.map(({ id, name, suspended_tables: tables }) => (
            <li key={id}>
              <Link to="/policies/$id" params={{ id }}>
                {name}
              </Link>
              <span className={classes.bad}>{words.suspended(formatPlural(tables, 'table'))}</span>
            </li>
          ))}
        </ul>
      )}
      <Ahead policies={policies.toSorted((a, b) => b.priority - a.priority).slice(0, MAX_POLICIES)} />
    </>
  )
}

function Ahead({ policies }: { readonly policies: readonly Policy[] }) {
  const previews = useQueries({ queries: policies.map(nextRunsQuery) })
  const decisions = useQueries({ queries: policies.map(({ id }) => latestDecisionsQuery(id)) })
  if ([...previews, ...decisions].some(({ isPending }) => isPending)) return <Loading lines={2} />
  const runs = policies.flatMap((policy, at) =>
    nextRuns(policy, previews[at]?.data?.runs ?? [], decisions[at]?.data?.decisions ?? []),
  )
  if (runs.length === 0) return <p className={classes.dim}>{words.none}</p>
  return (
    <ul className={classes.lines}>
      {runs
        .toSorted(byTime)
        .slice(0, SHOWN)
        .map((run) => (
          <NextRunLine key={`${run.policy.id} ${run.operation} ${run.table}`} run={run} />
        ))}
    </ul>
  )
}

function NextRunLine({ run }: { readonly run: NextRun }) {
  const { policy, operation, table, at, why, outcome } = run
  return (
    <li>
      <span>
        {operations.names[operation] ?? operation}{' '}
        <Link to="/tables/$table" params={{ table }}>
          {table}
        </Link>{' '}
        <span className={classes.dim}>
          {words.by}{' '}
          <Link to="/policies/$id" params={{ id: policy.id }}>
            {policy.name}
          </Link>
        </span>
      </span>
      <span className={classes.dim}>
        <StatusDot tone={OUTCOME_TONES[outcome]} label={words.why(words.outcomes[outcome], why)} />
        {at !== null && (
          <>
            , <PlannedTime at={at} />
          </>
        )}
      </span>
    </li>
  )
}
