import { useMemo, useState } from 'react'
import type { Snapshot } from '../../../api/types.ts'
import { Chart } from '../../../components/chart/chart.tsx'
import { formatCount, formatPlural } from '../../../strings/everywhere/units.ts'
import { snapshots as words } from '../../../strings/tables.ts'
import { rowsOverTime } from './rows-over-time.ts'
import classes from './snapshots-tab.module.css'

interface RowsChartProps {
  readonly snapshots: readonly Snapshot[]
  readonly current: string | null | undefined
  /** Older snapshots exist and are not loaded. */
  readonly hasMore: boolean
}

/** Rows of the table at each snapshot that is loaded, up to now; nothing when no snapshot has a count. */
export function RowsChart({ snapshots, current, hasMore }: RowsChartProps) {
  const [now] = useState(() => Date.now())
  const line = useMemo(() => rowsOverTime(snapshots, current, now), [snapshots, current, now])
  const series = useMemo(
    () => [{ label: words.columns.rows, values: line?.rows ?? [], kind: 'steps' as const, fill: true }],
    [line],
  )
  if (line === undefined) return null
  const notes = [
    line.isUpperBound && words.chartUpperBound,
    line.isCut && (hasMore ? words.chartMore : words.chartExpired),
  ].filter((note) => note !== false)
  const summary = words.chartSummary(
    formatCount(line.rows[0] ?? 0),
    formatCount(line.rows.at(-1) ?? 0),
    formatPlural(line.snapshotCount, 'snapshot'),
  )
  return (
    <section className={classes.chart}>
      <h2>{words.chart}</h2>
      {notes.length > 0 && <p>{notes.join(' ')}</p>}
      <Chart x={line.x} series={series} format={formatRows} whole summary={summary} height={120} />
    </section>
  )
}

const formatRows = (rows: number): string => formatPlural(rows, 'row')
