import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Pipeline, PipelineHistory } from '../../api/types.ts'
import { RelativeTime, useNow } from '../../time/relative-time.tsx'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { formatDuration, formatRelative } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { pipelineHistoryQuery } from './api.ts'
import { PipelineState } from './pipeline-state.tsx'
import classes from './pipelines.module.css'

const history = words.detail.history

/** The states that a pipeline was in, newest first. */
export function HistoryTab({ pipeline }: { readonly pipeline: Pipeline }) {
  const { data, error, refetch } = useQuery(pipelineHistoryQuery(pipeline.id))
  const now = useNow()
  useEffect(() => void refetch(), [pipeline.state, pipeline.error?.message, refetch])
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading lines={4} />
  return (
    <>
      {data.states.length > 0 ? <StateTable states={data.states} /> : <p className={classes.note}>{history.empty}</p>}
      <p className={classes.note}>{history.since(formatRelative(data.since, now))}</p>
    </>
  )
}

function StateTable({ states }: { readonly states: PipelineHistory['states'] }) {
  const now = useNow()
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroll} role="region" aria-label={words.detail.tabs.history} tabIndex={0}>
      <table className={classes.plain}>
        <thead>
          <tr>
            <th scope="col">{history.columns.state}</th>
            <th scope="col">{history.columns.at}</th>
            <th scope="col">{history.columns.for}</th>
            <th scope="col">{history.columns.reason}</th>
          </tr>
        </thead>
        <tbody>
          {states
            .map((change, at) => ({ change, next: states[at + 1] }))
            .toReversed()
            .map(({ change, next }) => (
              <tr key={`${change.at} ${change.state}`}>
                <td>
                  <PipelineState state={change.state} />
                </td>
                <td>
                  <RelativeTime at={change.at} />
                </td>
                <td>{spanOf(change, next?.at, now)}</td>
                <td className={classes.reason}>
                  {change.error ? `${change.error.code}: ${change.error.message}` : words.none}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  )
}

function spanOf({ at, state }: PipelineHistory['states'][number], to: string | undefined, now: Date): string {
  if (to !== undefined) return formatDuration(Math.max(0, Date.parse(to) - Date.parse(at)))
  if (state === 'stopped' || state === 'failed') return history.current
  // The clock of the page ticks every 15 s and may differ from that of the server.
  const span = now.getTime() - Date.parse(at)
  return span < MINUTE_MS ? history.justNow : history.untilNow(formatDuration(span))
}

const MINUTE_MS = 60_000
