import type { ActionState } from '../../../api/actions/use-action.ts'
import type { ConnectionCheck, ConnectionTest } from '../../../api/types.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { StatusDot, type StatusTone } from '../../../components/status/status-dot.tsx'
import { catalogStrings } from '../../../strings/settings.ts'
import classes from '../settings.module.css'

const strings = catalogStrings.test

const TONES: Readonly<Record<ConnectionCheck['outcome'], StatusTone>> = { ok: 'ok', failed: 'bad', skipped: 'idle' }

/** A test of a connection, and its result. */
interface RunningTest extends Pick<ActionState, 'isPending' | 'error'> {
  readonly data: ConnectionTest | undefined
}

/** What a test of the connection found, while it runs and afterwards; nothing before the first test. */
export function ConnectionTestResult({ test }: { readonly test: RunningTest }) {
  const { data, error, isPending } = test
  if (isPending) return <Notice tone="info">{strings.running}</Notice>
  if (error !== null) {
    return (
      <Notice tone="bad" title={strings.failed}>
        {errorText(error)}
      </Notice>
    )
  }
  return data === undefined ? undefined : <Checks result={data} />
}

function Checks({ result: { checks, outcome } }: { readonly result: ConnectionTest }) {
  return (
    <table className={classes.parts} aria-live="polite">
      <caption>{strings.caption[outcome]}</caption>
      <thead>
        <tr>
          <th scope="col">{strings.columns.check}</th>
          <th scope="col">{strings.columns.result}</th>
          <th scope="col">{strings.columns.detail}</th>
        </tr>
      </thead>
      <tbody>
        {checks.map(({ check, outcome: found, detail, hint }) => (
          <tr key={check}>
            <th scope="row">{strings.checks[check]}</th>
            <td>
              <StatusDot tone={TONES[found]} label={strings.outcomes[found]} />
            </td>
            <td>
              {detail}
              {hint === undefined ? undefined : <div className={classes.dimmed}>{hint}</div>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
