import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Operation } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { formatCount } from '../../strings/everywhere/units.ts'
import { operationStrings } from '../../strings/operations.ts'
import { overview } from '../../strings/overview.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { operationName, outcomeOf, STATE_TONES } from '../operations/operation-words.ts'
import { latestQuery, runningQuery } from './api.ts'
import classes from './overview.module.css'

const words = overview.operations
const SHOWN_RUNNING = 5
const SHOWN_ENDED = 4

/** What runs now, and what ended last. */
export function OperationsCard() {
  const running = useQuery(runningQuery)
  const latest = useQuery(latestQuery)
  return (
    <section className={classes.card} aria-labelledby="overview-operations">
      <Title order={2} id="overview-operations">
        {words.title}
      </Title>
      {running.isError && <ErrorState error={running.error} onRetry={() => void running.refetch()} />}
      {running.isPending && <Loading lines={3} />}
      {running.data && <Running operations={running.data.operations} />}
      {latest.data && <Ended operations={latest.data.operations} />}
      <Link to="/operations">{words.all}</Link>
    </section>
  )
}

interface OperationsProps {
  readonly operations: readonly Operation[]
}

function Running({ operations }: OperationsProps) {
  if (operations.length === 0) return <p className={classes.dim}>{words.noneRunning}</p>
  return (
    <>
      <h3>{words.running}</h3>
      <OperationLines operations={operations.slice(0, SHOWN_RUNNING)} />
      {operations.length > SHOWN_RUNNING && (
        <Link to="/operations" search={{ state: 'running' } as never}>
          {words.more(formatCount(operations.length))}
        </Link>
      )}
    </>
  )
}

function Ended({ operations }: OperationsProps) {
  const ended = operations.filter(({ state }) => state !== 'running').slice(0, SHOWN_ENDED)
  if (operations.length === 0) return <p className={classes.dim}>{words.none}</p>
  if (ended.length === 0) return null
  return (
    <>
      <h3>{words.recent}</h3>
      <OperationLines operations={ended} />
    </>
  )
}

function OperationLines({ operations }: OperationsProps) {
  return (
    <ul className={classes.lines}>
      {operations.map((operation) => (
        <li key={operation.id}>
          <span>
            <Link to="/operations/$id" params={{ id: operation.id }}>
              {operationName(operation.operation)}
            </Link>{' '}
            {operation.table}
          </span>
          <span className={classes.dim}>
            <StatusDot tone={STATE_TONES[operation.state]} label={operationStrings.states[operation.state]} />{' '}
            {outcomeOf(operation)}
          </span>
          <span className={classes.dim}>
            <RelativeTime at={operation.created_at} />
          </span>
        </li>
      ))}
    </ul>
  )
}
