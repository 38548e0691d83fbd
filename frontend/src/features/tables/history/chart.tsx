import { Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { HealthHistory } from '../../../api/types.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import {
  boundsOf,
  type ChartRange,
  cutSteps,
  type RangeBounds,
  type RangeSpec,
  type StepLine,
} from '../../../components/chart/range/chart-range.ts'
import { EmptyRange } from '../../../components/chart/range/empty-range.tsx'
import { RangeBar } from '../../../components/chart/range/range-bar.tsx'
import { useChartRange } from '../../../components/chart/range/use-chart-range.ts'
import { ErrorState, Loading } from '../../../components/status/states.tsx'
import { formatPlural } from '../../../strings/everywhere/units.ts'
import { health } from '../../../strings/tables.ts'
import { useNow } from '../../../time/relative-time.tsx'
import classes from './history.module.css'
import { healthRangeQuery } from './query.ts'

const words = health.history

/** Samples after commits stay for 30 days, one a day for 400. */
const SPEC: RangeSpec = { presets: ['24h', '7d', '30d', '1y', 'all'], fallback: '30d', unit: 'time' }

/** The score of a table over time. */
export function HealthChart({ table }: { readonly table: string }) {
  const { range, choose } = useChartRange(SPEC)
  const history = useQuery({ ...healthRangeQuery(table, range), placeholderData: keepPreviousData })
  const { data, isPending, isError, isPlaceholderData, error, refetch } = history
  return (
    <section className={classes.chart}>
      <Title order={2}>{words.title}</Title>
      <RangeBar spec={SPEC} range={range} choose={choose} isThinned={data?.is_thinned === true} />
      {isPending && <Loading lines={4} />}
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data && !isError && <Score history={data} range={range} isBusy={isPlaceholderData} onPart={choose} />}
    </section>
  )
}

interface ScoreProps {
  readonly history: HealthHistory
  readonly range: ChartRange
  /** The samples are those of the range before, until the new ones come. */
  readonly isBusy: boolean
  readonly onPart: (part: ChartRange) => void
}

function Score({ history, range, isBusy, onPart }: ScoreProps) {
  const now = useNow()
  const oldest = history.previous === null ? history.samples.at(-1) : undefined
  const oldestMs = oldest && Date.parse(oldest.at)
  const nowMs = Math.max(now.getTime(), Date.parse(history.samples[0]?.at ?? '') || 0)
  const bounds = useMemo(() => boundsOf(range, { nowMs, oldestMs, unit: 'time' }), [range, nowMs, oldestMs])
  const { x, values } = useMemo(() => scoreLine(history, bounds, nowMs), [history, bounds, nowMs])
  const series = useMemo(() => [{ label: words.series, values, kind: 'steps' as const, fill: true }], [values])
  if (isBusy && x.length === 0) return <Loading lines={4} />
  if (history.samples.length === 0 && range.kind === 'preset' && history.previous === null) {
    return <p className={classes.note}>{words.none}</p>
  }
  if (x.length === 0) return <EmptyRange spec={SPEC} bounds={bounds} />
  const summary = words.summary({
    samples: formatPlural(history.samples.length, 'sample'),
    first: String(values[0]),
    last: String(values.at(-1)),
    lowest: String(Math.min(...values)),
  })
  return (
    <Chart
      x={x}
      series={series}
      format={String}
      whole
      top={100}
      summary={summary}
      height={120}
      bounds={bounds}
      onPart={onPart}
    />
  )
}

/** The scores in some bounds: the one before them holds at their begin, and the last one until their end or until now. */
export function scoreLine(
  { samples, previous }: Pick<HealthHistory, 'samples' | 'previous'>,
  { fromMs, toMs }: RangeBounds,
  nowMs: number,
): StepLine<number> {
  const inOrder = [...samples, ...(previous === null ? [] : [previous])].reverse()
  const line = {
    x: inOrder.map(({ at }) => Date.parse(at) / 1000),
    values: inOrder.map(({ score }) => score),
  }
  return cutSteps(line, { fromMs, toMs: Math.min(toMs, nowMs) })
}
