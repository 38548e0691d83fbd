import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { parseTriggerInterval } from '../../../../src/domain/pipelines/trigger-interval.ts'
import type { Pipeline } from '../../api/types.ts'
import { Chart } from '../../components/chart/chart.tsx'
import { useNow } from '../../time/relative-time.tsx'
import { formatCount, formatDuration, formatPlural, formatRelative } from '../../strings/everywhere/units.ts'
import { useZone } from '../../time/time-settings.ts'
import { formatTime } from '../../time/zone.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import { pipelineHistoryQuery } from './api.ts'
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

/** Rate, lag and batch duration over the last triggers, as charts or as a table. */
export function ChartsTab({ pipeline, live }: { readonly pipeline: Pipeline; readonly live: LiveRow | undefined }) {
  const { data: history } = useQuery(pipelineHistoryQuery(pipeline.id))
  const [isTable, setTable] = useState(false)
  const modes = usePipelineModes(pipeline)
  const now = useNow()
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the row is another one whenever its samples are
  const samples = useMemo(() => joinedSamples(history, live?.samples.toArray() ?? []), [history, live])
  const merges = isMerging(modes, samples)
  if (samples.length === 0) return <p className={classes.note}>{charts.nothing}</p>
  return (
    <>
      {isTable ? (
        <SampleTable samples={samples} isMerging={merges} />
      ) : (
        <SampleCharts
          samples={samples}
          isMerging={merges}
          triggerMs={parseTriggerInterval(pipeline.trigger_interval) ?? 0}
        />
      )}
      <div className={classes.tools}>
        <Button variant="default" size="compact-xs" onClick={() => setTable(!isTable)}>
          {isTable ? charts.asCharts : charts.asTable}
        </Button>
        {history && <p className={classes.note}>{charts.since(formatRelative(history.since, now))}</p>}
      </div>
    </>
  )
}

interface SamplesProps {
  readonly samples: readonly Sample[]
  /** Whether rows of the sink are replaced or deleted. */
  readonly isMerging: boolean
}

function SampleCharts({ samples, isMerging: merges, triggerMs }: SamplesProps & { readonly triggerMs: number }) {
  const points = useMemo(() => chartPoints(samples, triggerMs), [samples, triggerMs])
  return (
    <div className={classes.charts}>
      {CHARTS.map((spec) => (
        <SampleChart key={spec.title} spec={spec} points={points} />
      ))}
      {merges && <MergedChart points={points} />}
    </div>
  )
}

interface SampleChartProps {
  readonly spec: ChartSpec
  readonly points: ChartPoints
}

function SampleChart({ spec: { title, kind, valueOf, format, whole = false }, points }: SampleChartProps) {
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
      <Chart x={x} series={series} format={format} whole={whole} summary={summary} height={180} syncKey="pipeline" />
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
