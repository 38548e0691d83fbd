import { useMemo } from 'react'
import { Chart } from '../../components/chart/chart.tsx'
import { formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import type { ChartTime } from '../../components/chart/chart-props.ts'
import type { ChartPoints } from './monitor/chart-points.ts'
import { isIdle } from './monitor/sample.ts'
import classes from './pipelines.module.css'

const charts = words.detail.charts
const LINES = [
  { kind: 'inserted', color: '--lh-ok' },
  { kind: 'updated', color: '--lh-accent' },
  { kind: 'deleted', color: '--lh-bad' },
] as const

/** Rows of the sink that each batch inserted, updated and deleted. */
export function MergedChart({
  points: { x, samples },
  time,
}: {
  readonly points: ChartPoints
  readonly time: ChartTime
}) {
  const series = useMemo(
    () =>
      LINES.map(({ kind, color }) => ({
        label: charts.changeNames[kind],
        values: samples.map((one) => (one === null || isIdle(one) ? null : one.merged[kind])),
        color,
      })),
    [samples],
  )
  const sums = series.map(({ label, values }) => `${label} ${formatCount(values.reduce<number>(plus, 0))}`)
  return (
    <section className={classes.chart}>
      <h2>{charts.changes}</h2>
      <Chart
        x={x}
        series={series}
        format={(rows) => formatPlural(Math.round(rows), 'row')}
        whole
        summary={charts.changesSummary(charts.changes, sums, samples.length)}
        height={180}
        syncKey="pipeline"
        {...time}
      />
      <ul className={classes.legend}>
        {LINES.map(({ kind, color }) => (
          <li key={kind}>
            <span aria-hidden="true" style={{ background: `var(${color})` }} /> {charts.changeNames[kind]}
          </li>
        ))}
      </ul>
    </section>
  )
}

function plus(sum: number, value: number | null): number {
  return sum + (value ?? 0)
}
