import { useEffect, useRef } from 'react'
import { type OnSpan, watchDrag } from '../../../components/chart/drag-span.ts'
import type { ChartRange } from '../../../components/chart/range/chart-range.ts'
import { partOfDays } from './days.ts'
import classes from './savings.module.css'

/** The value of one day, in parts that are drawn on each other. */
export interface DayBar {
  readonly date: string
  /** A value below 0 is drawn below the line. */
  readonly parts: readonly { readonly value: number; readonly label: string }[]
}

interface DayBarsProps {
  readonly days: readonly DayBar[]
  readonly format: (value: number) => string
  /** The text alternative. */
  readonly summary: string
  /** Receives days that the user drags across the bars. */
  readonly onPart: (part: ChartRange) => void
}

const HEIGHT = 120
const PART_COLORS = ['--lh-accent', '--lh-warn-fill'] as const

/** A bar for each day. The parts of a day are in the order of the legend. */
export function DayBars({ days, format, summary, onPart }: DayBarsProps) {
  const area = useRef<HTMLDivElement>(null)
  const choose = useRef<OnSpan>(undefined)
  useEffect(() => {
    const dates = days.map(({ date }) => date)
    choose.current = (from, to) => onPart(partOfDays(dates, from, to))
  }, [days, onPart])
  useEffect(
    () => (area.current === null ? undefined : watchDrag(area.current, (from, to) => choose.current?.(from, to))),
    [],
  )
  const top = Math.max(0, ...days.map((day) => sideOf(day, 1)))
  const bottom = Math.max(0, ...days.map((day) => sideOf(day, -1)))
  const span = top + bottom || 1
  const zero = (top / span) * HEIGHT
  return (
    <div className={classes.bars}>
      <div className={classes.scale} aria-hidden="true">
        <span>{format(top)}</span>
        <span>{bottom > 0 ? format(-bottom) : format(0)}</span>
      </div>
      <div ref={area}>
        <svg viewBox={`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
          <line className={classes.zero} x1={0} x2={days.length} y1={zero} y2={zero} />
          {days.map((day, at) => (
            <Bar key={day.date} day={day} x={at} zero={zero} scale={HEIGHT / span} />
          ))}
        </svg>
      </div>
      <div className={classes.ends} aria-hidden="true">
        <span>{days[0]?.date}</span>
        {days.length > 1 && <span>{days.at(-1)?.date}</span>}
      </div>
    </div>
  )
}

interface BarProps {
  readonly day: DayBar
  readonly x: number
  /** Where 0 is, in units of the box. */
  readonly zero: number
  readonly scale: number
}

function Bar({ day, x, zero, scale }: BarProps) {
  const ends = { up: zero, down: zero }
  return day.parts.map(({ value, label }, at) => {
    const height = Math.abs(value) * scale
    const y = value < 0 ? ends.down : ends.up - height
    if (value < 0) ends.down += height
    else ends.up -= height
    return (
      value !== 0 && (
        <rect key={label} x={x + 0.1} width={0.8} y={y} height={height} fill={`var(${PART_COLORS[at] ?? ''})`}>
          <title>{label}</title>
        </rect>
      )
    )
  })
}

/** The sum of the parts above or below the line, as a size. */
function sideOf({ parts }: DayBar, sign: 1 | -1): number {
  return parts.reduce((sum, { value }) => sum + Math.max(0, value * sign), 0)
}

/** The meaning of the colours of a {@link DayBars}. */
export function BarLegend({ labels }: { readonly labels: readonly string[] }) {
  return (
    <ul className={classes.legend}>
      {labels.map((label, at) => (
        <li key={label}>
          <span aria-hidden="true" style={{ background: `var(${PART_COLORS[at] ?? ''})` }} /> {label}
        </li>
      ))}
    </ul>
  )
}
