import { NativeSelect, Title } from '@mantine/core'
import { useMemo } from 'react'
import type { SavingsFigures, SavingsReport } from '../../../api/types.ts'
import type { ChartRange } from '../../../components/chart/range/chart-range.ts'
import { formatBytes, formatCount, formatDuration, formatPlural } from '../../../strings/everywhere/units.ts'
import { savings } from '../../../strings/savings.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { BarLegend, DayBars } from './day-bars.tsx'
import { daysBetween } from './days.ts'
import classes from './savings.module.css'

const words = savings.chart

interface Metric {
  readonly valueOf: (sums: SavingsFigures) => number
  readonly format: (value: number) => string
}

const METRICS: { readonly [Name in keyof typeof words.metrics]: Metric } = {
  files: { valueOf: (sums) => sums.files_before - sums.files_after, format: formatCount },
  freed: { valueOf: (sums) => sums.storage_freed_bytes, format: formatBytes },
  requests: { valueOf: (sums) => sums.scan_requests_saved, format: formatCount },
  time: { valueOf: (sums) => sums.duration_ms, format: formatDuration },
  runs: { valueOf: (sums) => sums.operations, format: formatCount },
}
const NAMES = ['files', 'freed', 'requests', 'time', 'runs'] as const
const BY = ['policy', 'person'] as const

interface SavingsChartProps {
  readonly report: SavingsReport
  /** Receives days that the user drags across the chart. */
  readonly onPart: (part: ChartRange) => void
}

/** One figure by day, as bars of what policies and people did; the figure is in the address. */
export function SavingsChart({ report, onPart }: SavingsChartProps) {
  const [{ figure }, changeSearch] = useSearchParams()
  const name = NAMES.find((one) => one === figure) ?? 'files'
  const { valueOf, format } = METRICS[name]
  const days = useMemo(() => {
    const sums = new Map<string, number>()
    for (const row of report.rows) {
      const key = `${row.date} ${row.by}`
      sums.set(key, (sums.get(key) ?? 0) + valueOf(row))
    }
    return daysBetween(report.from, report.to).map((date) => ({
      date,
      parts: BY.map((by) => {
        const value = sums.get(`${date} ${by}`) ?? 0
        return { value, label: words.part(date, words.by[by], format(value)) }
      }),
    }))
  }, [report, valueOf, format])
  const summary = words.summary(words.metrics[name], formatPlural(days.length, 'day'), {
    policies: format(valueOf(report.by_policies)),
    people: format(valueOf(report.by_people)),
  })
  return (
    <section className={classes.section} aria-labelledby="savings-chart">
      <div className={classes.head}>
        <Title order={2} id="savings-chart">
          {words.title}
        </Title>
        <NativeSelect
          aria-label={words.metric}
          data={NAMES.map((value) => ({ value, label: words.metrics[value] }))}
          value={name}
          onChange={({ currentTarget: { value } }) => changeSearch({ figure: value === 'files' ? undefined : value })}
        />
      </div>
      <DayBars days={days} format={format} summary={summary} onPart={onPart} />
      <BarLegend labels={BY.map((by) => words.by[by])} />
    </section>
  )
}
