import { useMemo } from 'react'
import type { Snapshot } from '../../../api/types.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import { boundsOf, cutSteps, type RangeSpec } from '../../../components/chart/range/chart-range.ts'
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
  const nowMs = useNow().getTime()
  const line = useMemo(() => rowsOverTime(snapshots, current, nowMs), [snapshots, current, nowMs])
  if (line === undefined) return null
  const notes = [
    line.isUpperBound && words.chartUpperBound,
    line.isCut && (hasMore ? words.chartMore : words.chartExpired),
  ].filter((note) => note !== false)
  return (
    <section className={classes.chart}>
      <h2>{words.chart}</h2>
      {notes.length > 0 && <p>{notes.join(' ')}</p>}
      <Rows line={line} />
    </section>
  )
}

function Rows({ line }: { readonly line: RowsOverTime }) {
  const { range, choose } = useChartRange(SPEC)
  const [oldest = 0, newest = 0] = [line.x[0], line.x.at(-1)]
  const oldestMs = oldest * 1000
  const bounds = useMemo(
    () => boundsOf(range, { nowMs: newest * 1000, oldestMs, unit: 'time' }),
    [range, newest, oldestMs],
  )
  const { x, values } = useMemo(() => cutSteps({ x: line.x, values: line.rows }, bounds), [line, bounds])
  const series = useMemo(() => [{ label: words.columns.rows, values, kind: 'steps' as const, fill: true }], [values])
  const summary = words.chartSummary(
    formatCount(values[0] ?? 0),
    formatCount(values.at(-1) ?? 0),
    formatPlural(line.snapshotCount, 'snapshot'),
  )
  return (
    <>
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
    </>
  )
}

const formatRows = (rows: number): string => formatPlural(rows, 'row')
