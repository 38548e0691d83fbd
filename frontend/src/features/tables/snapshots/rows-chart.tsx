import { useMemo } from 'react'
import type { Snapshot } from '../../../api/types.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import {
  boundsOf,
  cutSteps,
  type RangeBounds,
  type RangeSpec,
  type StepLine,
} from '../../../components/chart/range/chart-range.ts'
import { EmptyRange } from '../../../components/chart/range/empty-range.tsx'
import { RangeBar } from '../../../components/chart/range/range-bar.tsx'
import { useChartRange } from '../../../components/chart/range/use-chart-range.ts'
import { formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { snapshots as words } from '../../../strings/tables.ts'
import { useNow } from '../../../time/relative-time.tsx'
import { type RowsOverTime, rowsOverTime } from './rows-over-time.ts'
import classes from './snapshots-tab.module.css'

/** Snapshots stay until they expire. */
const SPEC: RangeSpec = { presets: ['24h', '7d', '30d', '1y', 'all'], fallback: 'all', unit: 'time' }

interface RowsChartProps {
  readonly snapshots: readonly Snapshot[]
  readonly current: string | null | undefined
  /** Older snapshots exist and are not loaded. */
  readonly hasMore: boolean
}

/** Rows of the table at each snapshot that is loaded, in a range of time; nothing when no snapshot has a count. */
export function RowsChart({ snapshots, current, hasMore }: RowsChartProps) {
  const { range, choose } = useChartRange(SPEC)
  const nowMs = useNow().getTime()
  const line = useMemo(() => rowsOverTime(snapshots, current, nowMs), [snapshots, current, nowMs])
  const oldestMs = line?.x[0] === undefined ? undefined : line.x[0] * 1000
  const newestMs = (line?.x.at(-1) ?? 0) * 1000
  const bounds = useMemo(
    () => boundsOf(range, { nowMs: Math.max(nowMs, newestMs), oldestMs, unit: 'time' }),
    [range, nowMs, newestMs, oldestMs],
  )
  const { x, values } = useMemo(() => rowsIn(line, bounds), [line, bounds])
  const series = useMemo(() => [{ label: words.columns.rows, values, kind: 'steps' as const, fill: true }], [values])
  if (line === undefined) return null
  const notes = [
    line.isUpperBound && words.chartUpperBound,
    line.isCut && (hasMore ? words.chartMore : words.chartExpired),
  ].filter((note) => note !== false)
  const summary = words.chartSummary(
    formatCount(values[0] ?? 0),
    formatCount(values.at(-1) ?? 0),
    formatPlural(line.snapshotCount, 'snapshot'),
  )
  return (
    <section className={classes.chart}>
      <h2>{words.chart}</h2>
      {notes.length > 0 && <p>{notes.join(' ')}</p>}
      <RangeBar spec={SPEC} range={range} choose={choose} oldestMs={oldestMs} />
      {x.length === 0 ? (
        <EmptyRange spec={SPEC} bounds={bounds} oldestMs={oldestMs} />
      ) : (
        <Chart
          x={x}
          series={series}
          format={formatRows}
          whole
          summary={summary}
          height={120}
          bounds={bounds}
          onPart={choose}
        />
      )}
    </section>
  )
}

function rowsIn(line: RowsOverTime | undefined, bounds: RangeBounds): StepLine<number | null> {
  return line === undefined ? { x: [], values: [] } : cutSteps({ x: line.x, values: line.rows }, bounds)
}

const formatRows = (rows: number): string => formatPlural(rows, 'row')
