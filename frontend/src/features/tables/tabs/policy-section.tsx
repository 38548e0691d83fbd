import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TablePolicy } from '../../../api/types.ts'
import { StatusDot } from '../../../components/status/status-dot.tsx'
import { operations } from '../../../strings/everywhere/common.ts'
import { policies, tablePolicy as words } from '../../../strings/policies.ts'
import { RelativeTime } from '../../../time/relative-time.tsx'
import { tablePolicyQuery } from '../../policies/api.ts'
import { OUTCOME_TONES, whyText } from '../../policies/policy-words.ts'
import classes from './overview-tab.module.css'

type Governed = TablePolicy['operations'][number]

/** Which policy governs each operation of a table, and what it decided last. */
export function PolicySection({ table }: { readonly table: string }) {
  const { data } = useQuery(tablePolicyQuery(table))
  if (data === undefined) return null
  const governed = data.operations.filter(({ policy }) => policy !== null)
  return (
    <section className={classes.section}>
      <Title order={2}>{words.title}</Title>
      {data.is_off && <span>{words.off}</span>}
      {!data.is_off && governed.length === 0 && <span className={classes.dim}>{words.none}</span>}
      <ul className={classes.policies}>
        {governed.map((one) => (
          <GovernedOperation key={one.operation} governed={one} />
        ))}
      </ul>
    </section>
  )
}

function GovernedOperation({ governed }: { readonly governed: Governed }) {
  const { operation, policy, overridden, is_suspended: isSuspended, last_decision: last } = governed
  if (policy === null) return null
  return (
    <li>
      <div>
        {operations.names[operation] ?? operation}:{' '}
        <Link to="/policies/$id" params={{ id: policy.id }}>
          {policy.name}
        </Link>{' '}
        {words.by(policies.modes[policy.mode])}{' '}
        {overridden.length > 0 && words.overrides(overridden.map(({ name }) => name).join(', '))}{' '}
        {isSuspended && <StatusDot tone="bad" label={words.suspended} />}
      </div>
      {last === null ? (
        <span className={classes.dim}>{words.undecided}</span>
      ) : (
        <span className={classes.dim}>
          <StatusDot tone={OUTCOME_TONES[last.outcome]} label={policies.decisions.outcomes[last.outcome]} />{' '}
          {whyText(last)}, <RelativeTime at={last.updated_at} />
        </span>
      )}
    </li>
  )
}
