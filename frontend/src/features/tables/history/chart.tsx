import { SegmentedControl, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { HealthHistory, HealthSample } from '../../../api/types.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { health } from '../../../strings/tables.ts'
import classes from './history.module.css'
import { healthHistoryQuery, type HistoryKind } from './query.ts'

const words = health.history
const SHOWN = 500
const KINDS = ['commit', 'day'] as const

/** The score of a table over time: after its commits, or one sample a day. */
export function HealthChart({ table }: { readonly table: string }) {
  const [kind, setKind] = useState<HistoryKind>('commit')
  const { data, isPending, isError, error, refetch } = useQuery(healthHistoryQuery(table, kind, SHOWN))
  return (
    <section className={classes.chart}>
      <div className={classes.head}>
        <Title order={2}>{words.title}</Title>
        <SegmentedControl
          aria-label={words.kindLabel}
          value={kind}
          onChange={(value) => setKind(KINDS.find((one) => one === value) ?? 'commit')}
          data={KINDS.map((value) => ({ value, label: words.kinds[value] }))}
        />
      </div>
      {isPending && <Loading lines={4} />}
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.samples.length === 0 && <p className={classes.note}>{words.none}</p>}
      {data && data.samples.length > 0 && <ScoreLine history={data} />}
    </section>
  )
}

function ScoreLine({ history }: { readonly history: HealthHistory }) {
  const [now] = useState(() => Date.now())
  const { x, scores } = useMemo(() => scoreLine(history.samples, now), [history.samples, now])
  const series = useMemo(() => [{ label: words.series, values: scores, kind: 'steps' as const, fill: true }], [scores])
  const count = formatPlural(history.samples.length, 'sample')
  const summary = words.summary({
    samples: count,
    first: String(scores[0]),
    last: String(scores.at(-1)),
    lowest: String(Math.min(...scores)),
  })
  return (
    <>
      <Chart x={x} series={series} format={String} whole top={100} summary={summary} height={120} />
      {history.next_page_token !== null && <p className={classes.note}>{words.cut(count)}</p>}
    </>
  )
}

/** Samples, newest first, as a line whose last score holds until now. */
export function scoreLine(
  samples: readonly HealthSample[],
  nowMs: number,
): { readonly x: readonly number[]; readonly scores: readonly number[] } {
  const inOrder = samples.toReversed()
  const x = inOrder.map(({ at }) => Date.parse(at) / 1000)
  const scores = inOrder.map(({ score }) => score)
  const last = scores.at(-1)
  const newest = x.at(-1)
  if (last === undefined || newest === undefined || newest >= nowMs / 1000) return { x, scores }
  return { x: [...x, nowMs / 1000], scores: [...scores, last] }
}
