import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SavingsReport } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { savings } from '../../strings/savings.ts'
import { savingsQuery } from '../operations/savings/api.ts'
import { dayOf } from '../operations/savings/days.ts'
import { SavingsTotals } from '../operations/savings/totals.tsx'
import classes from './overview.module.css'

const words = savings.card

/** What the operations of this month cost and gained; the month is that of UTC. */
export function SavingsCard() {
  const [from] = useState(() => `${dayOf(new Date()).slice(0, 8)}01`)
  const { data, error, isError, isPending, refetch } = useQuery(savingsQuery({ from }))
  return (
    <section className={classes.card} aria-labelledby="overview-savings">
      <Title order={2} id="overview-savings">
        {words.title}
      </Title>
      {isError && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <Loading lines={3} />}
      {data && <Month report={data} />}
      <Link to="/operations/savings" search={{ from } as never}>
        {words.all}
      </Link>
    </section>
  )
}

function Month({ report: { rows, total, by_policies: policies } }: { readonly report: SavingsReport }) {
  if (rows.length === 0) return <p className={classes.dim}>{words.none}</p>
  return (
    <>
      <SavingsTotals sums={total} isShort />
      {total.operations > 0 && (
        <p className={classes.dim}>
          {words.byPolicies(formatCount(policies.operations), formatPlural(total.operations, 'operation'))}
        </p>
      )}
    </>
  )
}
