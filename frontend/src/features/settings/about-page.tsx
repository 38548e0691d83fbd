import { useQuery } from '@tanstack/react-query'
import { serviceHealthQuery } from '../../api/service-health.ts'
import { useMe } from '../../api/session.ts'
import type { ServiceHealth } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { formatDuration } from '../../strings/everywhere/units.ts'
import { aboutStrings as strings } from '../../strings/settings.ts'
import { roleName } from '../../strings/everywhere/shell.ts'
import { SettingsFrame } from './settings-frame.tsx'
import classes from './settings.module.css'
import { serviceAddress } from '../../base-path.ts'

const PARTS = ['state', 'catalog', 'engine', 'cluster'] as const
const TONES: Readonly<Record<ServiceHealth['checks']['engine'], StatusTone>> = {
  ok: 'ok',
  failed: 'bad',
  not_configured: 'idle',
  starting: 'idle',
}

/** The version of the service, and the health of its components. */
export function AboutPage() {
  const { data, error, isError, refetch } = useQuery(serviceHealthQuery)
  return (
    <SettingsFrame tab="about">
      {!data && isError ? <ErrorState error={error} onRetry={() => void refetch()} /> : undefined}
      {!data && !isError ? <Loading /> : undefined}
      {data ? <About health={data} /> : undefined}
    </SettingsFrame>
  )
}

function About({ health }: { readonly health: ServiceHealth }) {
  const me = useMe()
  const { status, version, uptime_s: uptime, checks } = health
  return (
    <>
      <dl className={classes.facts}>
        <dt>{strings.version}</dt>
        <dd>{version}</dd>
        <dt>{strings.status}</dt>
        <dd>
          <StatusDot tone={status === 'ok' ? 'ok' : 'warn'} label={strings.statuses[status]} />
        </dd>
        <dt>{strings.uptime}</dt>
        <dd>{formatDuration(uptime * 1000)}</dd>
        {me ? (
          <>
            <dt>{strings.you}</dt>
            <dd>{strings.signedInAs(me.user, roleName(me.role))}</dd>
          </>
        ) : undefined}
        <dt>{strings.api}</dt>
        <dd>
          <a href={serviceAddress('/api/openapi.json')}>{strings.openapi}</a>
        </dd>
      </dl>
      <table className={classes.parts}>
        <caption>{strings.checks}</caption>
        <tbody>
          {PARTS.map((part) => (
            <tr key={part}>
              <th scope="row">{strings.parts[part]}</th>
              <td>
                <StatusDot tone={TONES[checks[part]]} label={strings.results[checks[part]]} />
              </td>
              <td className={classes.dimmed}>{strings.partHelp[part]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
