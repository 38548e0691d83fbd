import { Button } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { parseTriggerInterval } from '../../../../src/domain/pipelines/trigger-interval.ts'
import type { Pipeline } from '../../api/types.ts'
import { Chart } from '../../components/chart/chart.tsx'
import type { ChartTime } from '../../components/chart/chart-props.ts'
import {
  boundsOf,
  type ChartRange,
  type RangeBounds,
  type RangeSpec,
} from '../../components/chart/range/chart-range.ts'
import { EmptyRange } from '../../components/chart/range/empty-range.tsx'
import { RangeBar } from '../../components/chart/range/range-bar.tsx'
import { useChartRange } from '../../components/chart/range/use-chart-range.ts'
import { ErrorState, Loading } from '../../components/status/states.tsx'
import { useNow } from '../../time/relative-time.tsx'
import { formatCount, formatDuration, formatPlural } from '../../strings/everywhere/units.ts'
import { useZone } from '../../time/time-settings.ts'
import { formatTime } from '../../time/zone.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { pipelineRangeQuery } from './api.ts'
import { type ChartPoints, chartPoints } from './monitor/chart-points.ts'
import { formatRate } from './figures.ts'
import type { LiveRow } from './monitor/state.ts'
import classes from './pipelines.module.css'
import { MergedChart } from './merged-chart.tsx'
import { isMerging, usePipelineModes } from './modes.ts'
import { isIdle, rateOf, type Sample } from './monitor/sample.ts'
import { joinedSamples } from './monitor/samples-of.ts'

const charts = words.detail.charts

interface ChartSpec {
  readonly title: string
  readonly kind: 'line' | 'steps'
  readonly valueOf: (sample: Sample) => number | null
  readonly format: (value: number) => string
  readonly whole?: boolean
}

const CHARTS: readonly ChartSpec[] = [
  { title: charts.rate, kind: 'line', valueOf: (one) => (isIdle(one) ? null : rateOf(one)), format: formatRate },
  {
    title: charts.lag,
    kind: 'steps',
    valueOf: ({ lagRows }) => lagRows,
    format: (rows) => formatPlural(Math.round(rows), 'row'),
    whole: true,
  },
  {
    title: charts.duration,
    kind: 'line',
    valueOf: (one) => (isIdle(one) ? null : one.durationMs),
    format: formatDuration,
  },
]

/** Triggers are stored for 30 days. */
const SPEC: RangeSpec = { presets: ['15m', '1h', '24h', '7d', '30d'], fallback: '1h', unit: 'time' }

/** Rate, lag and batch duration over a range of time, as charts or as a table. */
export function ChartsTab({ pipeline, live }: TabProps) {
  const chosen = useChartRange(SPEC)
  const { history, samples, bounds, oldestMs } = useSamples({ pipeline, live }, chosen.range)
  const { data, isPending, isPlaceholderData, isError, error, refetch } = history
  const isBusy = isPending || isPlaceholderData
  return (
    <>
      <RangeBar spec={SPEC} {...chosen} oldestMs={oldestMs} isLive isThinned={data?.is_thinned === true} />
      {isError && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!isError && (isPending || samples.length === 0) && (
        <NoSamples isBusy={isBusy} bounds={bounds} oldestMs={oldestMs} />
      )}
      {data && !isError && samples.length > 0 && (
        <Samples pipeline={pipeline} samples={samples} time={{ bounds, onPart: chosen.choose }} />
      )}
    </>
  )
}

interface TabProps {
  readonly pipeline: Pipeline
  readonly live: LiveRow | undefined
}

/** The stored samples of a range, followed by those that came while the page is open. */
function useSamples({ pipeline, live }: TabProps, range: ChartRange) {
  const history = useQuery({ ...pipelineRangeQuery(pipeline.id, range), placeholderData: keepPreviousData })
  const nowMs = useNow().getTime()
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the row is another one whenever its samples are
  const known = useMemo(() => joinedSamples(history.data, live?.samples.toArray() ?? []), [history.data, live])
  const newestMs = Math.max(nowMs, known.at(-1)?.atMs ?? 0)
  const oldestMs = history.data?.oldest ? Date.parse(history.data.oldest) : undefined
  const bounds = useMemo(
    () => boundsOf(range, { nowMs: newestMs, oldestMs, unit: 'time' }),
    [range, newestMs, oldestMs],
  )
  const samples = useMemo(() => known.filter(({ atMs }) => isWithin(atMs, bounds)), [known, bounds])
  return { history, samples, bounds, oldestMs }
}

interface ShownSamplesProps {
  readonly pipeline: Pipeline
  readonly samples: readonly Sample[]
  readonly time: ChartTime
}

function Samples({ pipeline, samples, time }: ShownSamplesProps) {
  const [isTable, setTable] = useState(false)
  const merges = isMerging(usePipelineModes(pipeline), samples)
  const triggerMs = parseTriggerInterval(pipeline.trigger_interval) ?? 0
  return (
    <>
      {isTable ? (
        <SampleTable samples={samples} isMerging={merges} />
      ) : (
        <SampleCharts samples={samples} isMerging={merges} triggerMs={triggerMs} time={time} />
      )}
      <div className={classes.tools}>
        <Button variant="default" size="compact-xs" onClick={() => setTable(!isTable)}>
          {isTable ? charts.asCharts : charts.asTable}
        </Button>
        <p className={classes.note}>{charts.gaps}</p>
      </div>
    </>
  )
}

interface NoSamplesProps {
  readonly isBusy: boolean
  readonly bounds: RangeBounds
  readonly oldestMs: number | undefined
}

function NoSamples({ isBusy, bounds, oldestMs }: NoSamplesProps) {
  if (isBusy) return <Loading lines={6} />
  if (oldestMs === undefined) return <p className={classes.note}>{charts.nothing}</p>
  return <EmptyRange spec={SPEC} bounds={bounds} oldestMs={oldestMs} />
}

function isWithin(atMs: number, { fromMs, toMs }: RangeBounds): boolean {
  return atMs >= fromMs && atMs <= toMs
}

interface SamplesProps {
  readonly samples: readonly Sample[]
  /** Whether rows of the sink are replaced or deleted. */
  readonly isMerging: boolean
}

interface SampleChartsProps extends SamplesProps {
  readonly triggerMs: number
  readonly time: ChartTime
}

function SampleCharts({ samples, isMerging: merges, triggerMs, time }: SampleChartsProps) {
  const points = useMemo(() => chartPoints(samples, triggerMs), [samples, triggerMs])
  return (
    <div className={classes.charts}>
      {CHARTS.map((spec) => (
        <SampleChart key={spec.title} spec={spec} points={points} time={time} />
      ))}
      {merges && <MergedChart points={points} time={time} />}
    </div>
  )
}

interface SampleChartProps {
  readonly spec: ChartSpec
  readonly points: ChartPoints
  readonly time: ChartTime
}

function SampleChart({ spec: { title, kind, valueOf, format, whole = false }, points, time }: SampleChartProps) {
  const { x, samples } = points
  const series = useMemo(
    () => [{ label: title, values: samples.map((one) => one && valueOf(one)), kind, fill: true }],
    [title, kind, valueOf, samples],
  )
  const values = series[0]?.values.filter((value) => value !== null) ?? []
  const last = values.at(-1)
  const summary =
    last === undefined
      ? charts.noValues(title)
      : charts.summary({ title, last: format(last), top: format(Math.max(...values)), points: samples.length })
  return (
    <section className={classes.chart}>
      <h2>{title}</h2>
      <Chart
        x={x}
        series={series}
        format={format}
        whole={whole}
        summary={summary}
        height={180}
        syncKey="pipeline"
        {...time}
      />
    </section>
  )
}

const MERGED = ['inserted', 'updated', 'deleted'] as const

function SampleTable({ samples, isMerging: merges }: SamplesProps) {
  const zone = useZone()
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroll} role="region" aria-label={words.detail.tabs.charts} tabIndex={0}>
      <table className={classes.plain}>
        <thead>
          <tr>
            <th scope="col">{charts.columns.at}</th>
            <th scope="col" className={classes.num}>
              {charts.columns.batch}
            </th>
            <th scope="col" className={classes.num}>
              {charts.columns.rows}
            </th>
            {merges &&
              MERGED.map((kind) => (
                <th key={kind} scope="col" className={classes.num}>
                  {charts.changeNames[kind]}
                </th>
              ))}
            <th scope="col" className={classes.num}>
              {charts.columns.rate}
            </th>
            <th scope="col" className={classes.num}>
              {charts.columns.duration}
            </th>
            <th scope="col" className={classes.num}>
              {charts.columns.lag}
            </th>
          </tr>
        </thead>
        <tbody>
          {samples.toReversed().map((sample) => (
            <tr key={sample.atMs}>
              <td>{formatTime(new Date(sample.atMs), zone)}</td>
              <td className={classes.num}>{formatCount(sample.batchId)}</td>
              <td className={classes.num}>{formatCount(sample.rows)}</td>
              {merges &&
                MERGED.map((kind) => (
                  <td key={kind} className={classes.num}>
                    {formatCount(sample.merged[kind])}
                  </td>
                ))}
              <td className={classes.num}>{isIdle(sample) ? words.none : formatRate(rateOf(sample))}</td>
              <td className={classes.num}>{isIdle(sample) ? words.none : formatDuration(sample.durationMs)}</td>
              <td className={classes.num}>{formatPlural(sample.lagRows, 'row')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
