import { Title } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Policy, PolicyDecision } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { formatCount, formatPlural } from '../../components/text/units.ts'
import { operations } from '../../strings/shared/common.ts'
import { overview } from '../../strings/overview.ts'
import { policies as policyWords } from '../../strings/policies.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { latestDecisionsQuery, policiesQuery } from '../policies/api.ts'
import { currentDecisions, OUTCOME_TONES, whyText } from '../policies/policy-words.ts'
import classes from './overview.module.css'

const words = overview.next
/** Policies whose decisions are read, the highest priority first. */
const MAX_POLICIES = 5
const SHOWN = 5
/** What is still ahead. */
const AHEAD: readonly PolicyDecision['outcome'][] = ['deferred', 'would_run']

/** What the policies wait for, and what they would do. */
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
  const results = useQueries({ queries: policies.map(({ id }) => latestDecisionsQuery(id)) })
  if (results.some(({ isPending }) => isPending)) return <Loading lines={2} />
  const decisions = results.flatMap(({ data }) => currentDecisions(data?.decisions ?? []))
  const ahead = decisions.filter(({ outcome }) => AHEAD.includes(outcome)).toSorted(byTime)
  if (ahead.length === 0) return <p className={classes.dim}>{words.none}</p>
  return (
    <ul className={classes.lines}>
      {ahead.slice(0, SHOWN).map((decision) => (
        <Decision key={decision.id} decision={decision} />
      ))}
    </ul>
  )
}

function Decision({ decision }: { readonly decision: PolicyDecision }) {
  const { policy_id: id, policy_name: policy, operation, table, outcome, not_before: notBefore } = decision
  return (
    <li>
      <span>
        {operations.names[operation] ?? operation}{' '}
        <Link to="/tables/$table" params={{ table }}>
          {table}
        </Link>{' '}
        <span className={classes.dim}>
          {words.by}{' '}
          <Link to="/policies/$id" params={{ id }}>
            {policy}
          </Link>
        </span>
      </span>
      <span className={classes.dim}>
        <StatusDot
          tone={OUTCOME_TONES[outcome]}
          label={words.why(policyWords.decisions.outcomes[outcome], whyText(decision))}
        />
        {notBefore !== null && (
          <>
            , <RelativeTime at={notBefore} />
          </>
        )}
      </span>
    </li>
  )
}

/** What is considered first comes first; decisions without a time come last. */
function byTime({ not_before: a }: PolicyDecision, { not_before: b }: PolicyDecision): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}
