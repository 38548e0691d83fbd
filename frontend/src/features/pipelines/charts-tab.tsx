import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Chart } from '../../components/chart.tsx'
import { useNow } from '../../components/relative-time.tsx'
import { formatCount, formatDuration, formatPlural, formatRelative, formatTime } from '../../components/units.ts'
import { pipelines as words } from '../../strings/pipelines.ts'
import { pipelineHistoryQuery } from './api.ts'
import { formatRate } from './figures.ts'
import type { LiveRow } from './monitor-state.ts'
import classes from './pipelines.module.css'
import { rateOf, type Sample } from './sample.ts'
import { joinedSamples } from './samples-of.ts'

const charts = words.detail.charts

interface ChartSpec {
  readonly title: string
  readonly valueOf: (sample: Sample) => number | null
  readonly format: (value: number) => string
  readonly whole?: boolean
}

const CHARTS: readonly ChartSpec[] = [
  { title: charts.rate, valueOf: rateOf, format: formatRate },
  {
    title: charts.lag,
    valueOf: ({ lagRows }) => lagRows,
    format: (rows) => formatPlural(Math.round(rows), 'row'),
    whole: true,
  },
  { title: charts.duration, valueOf: ({ durationMs }) => durationMs, format: formatDuration },
]

/** Rate, lag and batch duration over the last triggers, as charts or as a table. */
export function ChartsTab({ id, live }: { readonly id: string; readonly live: LiveRow | undefined }) {
  const { data: history } = useQuery(pipelineHistoryQuery(id))
  const [isTable, setTable] = useState(false)
  const now = useNow()
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the row is another one whenever its samples are
  const samples = useMemo(() => joinedSamples(history, live?.samples.toArray() ?? []), [history, live])
  if (samples.length === 0) return <p className={classes.note}>{charts.nothing}</p>
  return (
    <>
      {isTable ? <SampleTable samples={samples} /> : <SampleCharts samples={samples} />}
      <div className={classes.tools}>
        <Button variant="default" size="compact-xs" onClick={() => setTable(!isTable)}>
          {isTable ? charts.asCharts : charts.asTable}
        </Button>
        {history && <p className={classes.note}>{charts.since(formatRelative(history.since, now))}</p>}
      </div>
    </>
  )
}

function SampleCharts({ samples }: { readonly samples: readonly Sample[] }) {
  const x = useMemo(() => samples.map(({ atMs }) => atMs / 1000), [samples])
  return (
    <div className={classes.charts}>
      {CHARTS.map((spec) => (
        <SampleChart key={spec.title} spec={spec} x={x} samples={samples} />
      ))}
    </div>
  )
}

interface SampleChartProps {
  readonly spec: ChartSpec
  readonly x: readonly number[]
  readonly samples: readonly Sample[]
}

function SampleChart({ spec: { title, valueOf, format, whole = false }, x, samples }: SampleChartProps) {
  const series = useMemo(() => [{ label: title, values: samples.map(valueOf), fill: true }], [title, valueOf, samples])
  const values = series[0]?.values.filter((value) => value !== null) ?? []
  const summary = charts.summary(title, format(values.at(-1) ?? 0), format(Math.max(0, ...values)), samples.length)
  return (
    <section className={classes.chart}>
      <h2>{title}</h2>
      <Chart x={x} series={series} format={format} whole={whole} summary={summary} height={180} />
    </section>
  )
}

function SampleTable({ samples }: { readonly samples: readonly Sample[] }) {
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
              <td>{formatTime(new Date(sample.atMs))}</td>
              <td className={classes.num}>{formatCount(sample.batchId)}</td>
              <td className={classes.num}>{formatCount(sample.rows)}</td>
              <td className={classes.num}>{formatRate(rateOf(sample))}</td>
              <td className={classes.num}>{formatDuration(sample.durationMs)}</td>
              <td className={classes.num}>{formatPlural(sample.lagRows, 'row')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
