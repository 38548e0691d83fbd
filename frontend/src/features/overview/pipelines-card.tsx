import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Pipeline } from '../../api/types.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { formatCount, formatDuration, formatPlural } from '../../strings/everywhere/units.ts'
import { overview } from '../../strings/overview.ts'
import { STATES } from '../pipelines/list-order.ts'
import { PipelineState } from '../pipelines/pipeline-state.tsx'
import { allPipelinesQuery } from './api.ts'
import classes from './overview.module.css'
import { furthestBehind, lagOf, unreadRows } from './reasons.ts'

const words = overview.pipelines
const SHOWN = 4

/** How many pipelines are in each state, those with errors, and those that are furthest behind. */
export function PipelinesCard() {
  const { data, isPending, isError, error, refetch } = useQuery(allPipelinesQuery)
  return (
    <section className={classes.card} aria-labelledby="overview-pipelines">
      <Title order={2} id="overview-pipelines">
        {words.title}
      </Title>
      {isError && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {isPending && <Loading lines={3} />}
      {data?.length === 0 && <p className={classes.dim}>{words.none}</p>}
      {data && data.length > 0 && (
        <>
          <States pipelines={data} />
          <Broken pipelines={data} />
          <Behind pipelines={data} />
        </>
      )}
      <Link to="/pipelines">{words.all}</Link>
    </section>
  )
}

interface PipelinesProps {
  readonly pipelines: readonly Pipeline[]
}

function States({ pipelines }: PipelinesProps) {
  const counts = STATES.map((state) => ({ state, count: pipelines.filter((one) => one.state === state).length }))
  return (
    <ul className={classes.states}>
      {counts
        .filter(({ count }) => count > 0)
        .map(({ state, count }) => (
          <li key={state}>
            <Link to="/pipelines" search={{ state } as never}>
              <PipelineState state={state} />
            </Link>
            <strong>{formatCount(count)}</strong>
          </li>
        ))}
    </ul>
  )
}

function Broken({ pipelines }: PipelinesProps) {
  const broken = pipelines.filter(({ error }) => error !== null).slice(0, SHOWN)
  if (broken.length === 0) return null
  return (
    <>
      <h3>{words.failed}</h3>
      <ul className={classes.lines}>
        {broken.map((pipeline) => (
          <li key={pipeline.id}>
            <PipelineLink pipeline={pipeline} />
            <span className={classes.bad}>{pipeline.error?.message}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Behind({ pipelines }: PipelinesProps) {
  const behind = furthestBehind(pipelines, SHOWN)
  if (!pipelines.some((one) => lagOf(one) !== undefined)) return null
  if (behind.length === 0) return <p className={classes.dim}>{words.upToDate}</p>
  return (
    <>
      <h3>{words.behind}</h3>
      <ul className={classes.lines}>
        {behind.map((pipeline) => (
          <li key={pipeline.id}>
            <PipelineLink pipeline={pipeline} />
            <span>{formatDuration((lagOf(pipeline) ?? 0) * 1000)}</span>
            <span className={classes.dim}>{words.unread(formatPlural(unreadRows(pipeline), 'row'))}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function PipelineLink({ pipeline: { id, source_tables: sources, sink_table: sink } }: { readonly pipeline: Pipeline }) {
  return (
    <Link to="/pipelines/$id" params={{ id }}>
      {sources.join(', ')} → {sink}
    </Link>
  )
}
