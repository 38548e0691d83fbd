import { useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import classes from './chart.module.css'

export interface ChartSeries {
  readonly label: string
  /** One value for each `x`; null where there is none. */
  readonly values: readonly (number | null)[]
  /** A colour or custom property of the page; default the accent. */
  readonly color?: string
  readonly fill?: boolean
  /** `line` (default); `steps`: a value holds until the next one; `bars`. */
  readonly kind?: 'line' | 'steps' | 'bars'
}

export interface ChartProps {
  /** Seconds since 1970 when `time` is set (default), else plain numbers; ascending. */
  readonly x: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly time?: boolean
  /** A value of the vertical axis with its unit. */
  readonly format: (value: number) => string
  /** Values are counts: no mark of the vertical axis is a fraction. */
  readonly whole?: boolean
  /** What the chart shows and says, for those who cannot see it: its title, latest and greatest value. */
  readonly summary: string
  /** px; default 160. */
  readonly height?: number
}

/** A chart over time or numbers that follows the colour scheme and the width; its `summary` is the text alternative. */
export function Chart(props: ChartProps) {
  const { x, series, summary, height = 160 } = props
  const { ref, width } = useElementSize()
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const scheme = useComputedColorScheme('light')
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })
  const shape = series.map(({ label, color, fill, kind }) => [label, color, fill, kind].join(' ')).join('|')

  useEffect(() => {
    if (holder.current === null || width === 0) return undefined
    const made = new UPlot(chartOptions(latest.current, width, height), dataOf(latest.current), holder.current)
    plot.current = made
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [scheme, shape, width, height])

  useEffect(() => {
    plot.current?.setData(dataOf({ x, series }))
  }, [x, series])

  return (
    <figure className={classes.chart} ref={ref}>
      <div ref={holder} aria-hidden="true" style={{ minHeight: height }} />
      <VisuallyHidden component="figcaption">{summary}</VisuallyHidden>
    </figure>
  )
}

function dataOf({ x, series }: Pick<ChartProps, 'x' | 'series'>): UPlot.AlignedData {
  return [[...x], ...series.map(({ values }) => [...values])]
}

function chartOptions(props: ChartProps, width: number, height: number): UPlot.Options {
  const text = cssColor('--mantine-color-dimmed')
  const axis = {
    stroke: text,
    grid: { stroke: cssColor('--lh-border'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  return {
    width,
    height,
    legend: { show: props.series.length > 1 },
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { time: props.time ?? true, ...((props.time ?? true) ? { range: timeRange } : {}) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        gap: 6,
        space: 80,
        ...((props.time ?? true) ? { values: timeLabels, incrs: TIME_STEPS } : {}),
      },
      {
        ...axis,
        size: axisWidth,
        space: 24,
        values: (_plot, ticks) => ticks.map((tick) => props.format(tick)),
        ...(props.whole ? { incrs: WHOLE_STEPS } : {}),
      },
    ],
    series: [{}, ...props.series.map((one) => seriesOptions(one, props.format))],
  }
}

function seriesOptions({ label, color = '--lh-accent', fill, kind }: ChartSeries, format: ChartProps['format']) {
  const stroke = color.startsWith('--') ? cssColor(color) : color
  const bars = kind === 'bars' ? UPlot.paths.bars?.({ size: [0.7, 40] }) : undefined
  const steps = kind === 'steps' ? UPlot.paths.stepped?.({ align: 1 }) : undefined
  return {
    label,
    stroke,
    width: kind === 'bars' ? 0 : 1.5,
    spanGaps: false,
    points: { show: false, size: 5, fill: stroke, filter: lonePoints },
    value: (_plot: UPlot, value: number | null) => (value === null ? '–' : format(value)),
    ...(fill === true || bars ? { fill: `color-mix(in srgb, ${stroke} ${bars ? 80 : 15}%, transparent)` } : {}),
    ...(bars ? { paths: bars } : {}),
    ...(steps ? { paths: steps } : {}),
  }
}

/** Values with a gap on both sides: no line leads to them, so that they are drawn as points. */
function lonePoints({ data }: UPlot, series: number): number[] | null {
  const values = data[series] ?? []
  const lone: number[] = []
  for (let at = 0; at < values.length; at++) {
    if (hasValue(values[at]) && !hasValue(values[at - 1]) && !hasValue(values[at + 1])) lone.push(at)
  }
  return lone.length > 0 ? lone : null
}

function hasValue(value: number | null | undefined): boolean {
  return value !== null && value !== undefined
}

/** At least so much time, s: the labels of less would all be the same. */
const MIN_SPAN_S = 10

/** All of the time that there are values for, with the newest at the end; of one value uPlot would make years. */
function timeRange({ data }: UPlot, min: number | null, max: number | null): [number, number] {
  const end = (data[0].length === 1 ? min : max) ?? Date.now() / 1000
  return [Math.min(min ?? end, end - MIN_SPAN_S), end]
}

/** As wide as the longest label needs, px. */
function axisWidth(_plot: UPlot, labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length))
  return Math.max(40, longest * 6.5 + 14)
}

const DAY_S = 86_400
const MINUTE_S = 60

/** Times of day on 24 hours; dates where the labels are a day apart or more. */
function timeLabels(...[, ticks, , , step]: Parameters<UPlot.Axis.DynamicValues>): string[] {
  return ticks.map((tick) => {
    const at = new Date(tick * 1000)
    if (step >= DAY_S) return at.toLocaleDateString('sv')
    return at.toLocaleTimeString('sv', { timeStyle: step < MINUTE_S ? 'medium' : 'short' })
  })
}

/** Between marks of an axis of counts: 1, 2, 5, 10, 20 and so on. */
const WHOLE_STEPS = Array.from({ length: 48 }, (_, at) => ([1, 2, 5][at % 3] ?? 1) * 10 ** Math.floor(at / 3))

/** Seconds between marks of the time axis: from one second on, so that no two marks read the same. */
const TIME_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
  1_209_600, 2_592_000, 7_776_000, 15_552_000, 31_536_000, 63_072_000,
]

function cssColor(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim()
}
