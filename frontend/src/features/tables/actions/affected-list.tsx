import { Checkbox } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Notice } from '../../../components/status/notice.tsx'
import { previews } from '../../../strings/table-actions.ts'
import classes from './action-drawer.module.css'
import { type AffectedPipeline, neededFor } from './affected-pipelines.ts'

export interface AffectedListProps {
  readonly affected: readonly AffectedPipeline[]
  readonly accepted: boolean
  readonly onAccept: (accepted: boolean) => void
}

/** The pipelines that a rollback affects, with what must be done first. */
export function AffectedList({ affected, accepted, onAccept }: AffectedListProps) {
  const needed = neededFor(affected)
  if (needed === 'nothing') return null
  return (
    <section>
      <h3>{previews.affectedTitle}</h3>
      <ul className={classes.affected} aria-label={previews.affectedTitle}>
        {affected.map(({ id, role, state, consequence }) => (
          <li key={`${id} ${role}`}>
            <Link to="/pipelines/$id" params={{ id }}>
              {id}
            </Link>{' '}
            ({previews.roles[role]}, {state}): {consequence}
          </li>
        ))}
      </ul>
      {needed === 'stop' ? (
        <Notice tone="warn">{previews.mustStop}</Notice>
      ) : (
        <Checkbox
          label={previews.acceptPipelines}
          checked={accepted}
          onChange={(event) => onAccept(event.currentTarget.checked)}
        />
      )}
    </section>
  )
}
