import { Button, Title, Tooltip } from '@mantine/core'
import { OPERATIONS } from '../../../../../../src/domain/tables/operations.ts'
import { useCan } from '../../../../api/session.ts'
import type { HealthAction, TableHealth } from '../../../../api/types.ts'
import { operations } from '../../../../strings/everywhere/common.ts'
import { shell } from '../../../../strings/everywhere/shell.ts'
import { health as words } from '../../../../strings/tables.ts'
import { type ActionKind, isActionKind } from '../../actions/action-specs.ts'
import classes from './recommended-actions.module.css'
import type { TabProps } from '../tab-props.ts'

interface RecommendedActionsProps {
  readonly health: TableHealth
  readonly onAction: TabProps['onAction']
}

/** The recommended actions for a table, each with its gain and a preview button. */
export function RecommendedActions({ health, onAction }: RecommendedActionsProps) {
  return (
    <section>
      <Title order={2} mb={8}>
        {words.actionsTitle}
      </Title>
      <ul className={classes.list}>
        {health.actions.map((action) =>
          isActionKind(action.operation) ? (
            <Recommended
              key={action.operation}
              action={action}
              kind={action.operation}
              score={health.score}
              onAction={onAction}
            />
          ) : null,
        )}
      </ul>
    </section>
  )
}

interface RecommendedProps {
  readonly action: HealthAction
  readonly kind: ActionKind
  readonly score: number
  readonly onAction: TabProps['onAction']
}

function Recommended({ action, kind, score, onAction }: RecommendedProps) {
  const { minRole } = OPERATIONS[kind].request
  const allowed = useCan(minRole)
  const name = operations.names[kind] ?? kind
  const after = action.projected['score']
  return (
    <li className={classes.action}>
      <div className={classes.words}>
        <strong>{name}</strong>
        {typeof after === 'number' && after > score && (
          <span className={classes.gain}>{words.gain(String(score), String(after))}</span>
        )}
        <p>{action.reason}</p>
      </div>
      <Tooltip label={words.needsRole(shell.roles[minRole])} disabled={allowed}>
        <Button
          aria-disabled={!allowed}
          {...(allowed ? {} : { 'data-disabled': true })}
          onClick={() => allowed && onAction(kind, { recommended: '1' })}
        >
          {words.preview(operations.nouns[kind] ?? kind)}
        </Button>
      </Tooltip>
    </li>
  )
}
