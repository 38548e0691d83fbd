import UPlot from 'uplot'
import { formatAxisTime, type Zone } from '../../time/zone.ts'
import { textScale } from '../text/text-scale.ts'
import type { ChartProps, ChartSeries, ChartTime } from './chart-props.ts'
import { tooltipPlugin } from './chart-tooltip.ts'
import { watchDrag } from './drag-span.ts'
import { partOf } from './range/chart-range.ts'

export interface ChartFrame {
  /** px */
  readonly width: number
  readonly height: number
  readonly zone: Zone
  /** The time axis as it is now. */
  readonly time: () => ChartTime
}

/** The uPlot options of a chart, in the current colors of the page. */
export function chartOptions(props: ChartProps, { width, height, zone, time }: ChartFrame): UPlot.Options {
  const { format, series, syncKey, top } = props
  const axis = {
    stroke: cssColor('--mantine-color-dimmed'),
    grid: { stroke: cssColor('--lh-border'), width: 1 },
    ticks: { show: false },
    font: `${remPx(11)}px system-ui, sans-serif`,
  }
  return {
    width,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: false, y: false },
      ...(syncKey ? { sync: { key: syncKey } } : {}),
    },
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone === 'UTC' ? 'Etc/UTC' : zone),
    scales: {
      x: { time: true, range: (plot, min, max) => boundsInSeconds(time()) ?? timeRange(plot, min, max) },
      y: { range: (_plot, _min, max) => [0, top ?? (max > 0 ? max * 1.1 : 1)] },
    },
    axes: [
      {
        ...axis,
        size: remPx(26),
        gap: 6,
        space: remPx(80),
        values: (...[, ticks, , , step]: Parameters<UPlot.Axis.DynamicValues>) =>
          ticks.map((tick) => formatAxisTime(tick, zone, step)),
        incrs: TIME_STEPS,
      },
      {
        ...axis,
        size: axisWidth,
        space: remPx(24),
        values: (_plot, ticks) => ticks.map((tick) => format(tick)),
        ...(props.whole ? { incrs: WHOLE_STEPS } : {}),
      },
    ],
    series: [{}, ...series.map(seriesOptions)],
    plugins: [tooltipPlugin({ format, zone }), ...(props.onPart ? [partPlugin(time)] : [])],
  }
}

function seriesOptions({ label, color = '--lh-accent', fill, kind }: ChartSeries): UPlot.Series {
  const stroke = color.startsWith('--') ? cssColor(color) : color
  const steps = kind === 'steps' ? UPlot.paths.stepped?.({ align: 1 }) : undefined
  return {
    label,
    stroke,
    width: 1.5,
    spanGaps: false,
    points: { show: false, size: 5, fill: stroke, filter: lonePoints },
    ...(fill === true ? { fill: `color-mix(in srgb, ${stroke} 15%, transparent)` } : {}),
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

function boundsInSeconds({ bounds }: ChartTime): [number, number] | undefined {
  return bounds && [bounds.fromMs / 1000, bounds.toMs / 1000]
}

/** Lets the user drag a part across the plot. */
function partPlugin(time: () => ChartTime): UPlot.Plugin {
  let stop: (() => void) | undefined
  return {
    hooks: {
      init: (plot) => {
        stop = watchDrag(plot.over, (from, to) => {
          const { bounds, onPart } = time()
          if (bounds) onPart?.(partOf(bounds, from, to))
        })
      },
      destroy: () => stop?.(),
    },
  }
}

/** Minimum time span, s: in a shorter one all labels would be the same. */
const MIN_SPAN_S = 10

/** The time span of the values, newest at the end. For a single value uPlot alone would show years. */
function timeRange({ data }: UPlot, min: number | null, max: number | null): [number, number] {
  const end = (data[0].length === 1 ? min : max) ?? Date.now() / 1000
  return [Math.min(min ?? end, end - MIN_SPAN_S), end]
}

/** Width of the longest label, px. */
function axisWidth(_plot: UPlot, labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length))
  return remPx(Math.max(40, longest * 6.5 + 14))
}

/** Between marks of an axis of counts: 1, 2, 5, 10, 20 and so on. */
const WHOLE_STEPS = Array.from({ length: 48 }, (_, at) => ([1, 2, 5][at % 3] ?? 1) * 10 ** Math.floor(at / 3))

/** Seconds between marks of the time axis: from one second on, so that no two marks read the same. */
const TIME_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
  1_209_600, 2_592_000, 7_776_000, 15_552_000, 31_536_000, 63_072_000,
]

/** Pixels at the user's text size; `px` is the value at a text size of 16 px. */
function remPx(px: number): number {
  return px * textScale()
}

function cssColor(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim()
}
