import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Alert } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { formatPlural } from '../../strings/everywhere/units.ts'
import { alertStrings } from '../../strings/alerts.ts'
import { overview } from '../../strings/overview.ts'
import { alertsQuery } from '../settings/alerts/api.ts'
import classes from './overview.module.css'

const words = overview.alerts
const SHOWN = 5

/** The alerts whose conditions last; only leads can read alerts. */
export function AlertsCard() {
  const { data, error, isError, isPending, refetch } = useQuery(alertsQuery)
  return (
    <section className={classes.card} aria-labelledby="overview-alerts">
      <Title order={2} id="overview-alerts">
        {words.title}
      </Title>
      {isError && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <Loading lines={2} />}
      {data && <Active alerts={data} />}
      <Link to="/settings/alerts">{words.all}</Link>
    </section>
  )
}

function Active({ alerts }: { readonly alerts: readonly Alert[] }) {
  const active = alerts.filter(({ active_conditions: count }) => count > 0)
  if (alerts.length === 0) return <p className={classes.dim}>{words.noAlerts}</p>
  if (active.length === 0) return <p className={classes.dim}>{words.none(formatPlural(alerts.length, 'alert'))}</p>
  return (
    <ul className={classes.lines}>
      {active.slice(0, SHOWN).map(({ id, name, active_conditions: count }) => (
        <li key={id}>
          <Link to="/settings/alerts" search={{ alert: id }}>
            {name}
          </Link>
          <StatusDot tone="bad" label={alertStrings.states.active(count)} />
        </li>
      ))}
      {active.length > SHOWN && (
        <li className={classes.dim}>{words.more(formatPlural(active.length - SHOWN, 'more alert'))}</li>
      )}
    </ul>
  )
}
