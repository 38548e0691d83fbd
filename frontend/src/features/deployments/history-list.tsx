import type { DeploymentHistory } from '../../api/types.ts'
import { deploymentStrings } from '../../strings/deployments.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import classes from './deployments.module.css'

const words = deploymentStrings.history

interface HistoryListProps {
  /** Newest first. */
  readonly history: DeploymentHistory
  /** The number of a version. */
  readonly numberOf: (id: string | null) => number | undefined
}

/** The changes of the deployments of a definition, newest first. */
export function HistoryList({ history, numberOf }: HistoryListProps) {
  if (history.length === 0) return undefined
  return (
    <details>
      <summary>{words.title(history.length)}</summary>
      <ol className={classes.history}>
        {history.map((entry) => (
          <Entry key={entry.id} entry={entry} version={words.version(numberOf(entry.version_id))} />
        ))}
      </ol>
    </details>
  )
}

function Entry({ entry, version }: { readonly entry: DeploymentHistory[number]; readonly version: string }) {
  const { action, environment, outcome, reason, started_by: by, started_at: at, override } = entry
  return (
    <li>
      <strong>{words.line(deploymentStrings.actions[action], version, environment)}</strong>: {words.outcomes[outcome]}{' '}
      <span className={classes.dimmed}>
        {words.by(by)} <RelativeTime at={at} />
      </span>
      {reason !== null && <p className={classes.dimmed}>{reason}</p>}
      {override && <p className={classes.dimmed}>{deploymentStrings.override.by(override.by, override.reason)}</p>}
    </li>
  )
}
