import type { ChartRange, RangeBounds } from './range/chart-range.ts'

/** A line of a chart. */
export interface ChartSeries {
  readonly label: string
  /** One value for each `x`; null where there is none. */
  readonly values: readonly (number | null)[]
  /** A colour or custom property of the page; default the accent. */
  readonly color?: string
  readonly fill?: boolean
  /** `line` (default); `steps`: a value holds until the next one. */
  readonly kind?: 'line' | 'steps'
}

/** The time axis of a chart whose range can be chosen. */
export interface ChartTime {
  /** The ends of the axis; default: those of the values. */
  readonly bounds?: RangeBounds
  /** Receives a part of the bounds that the user drags across the chart. */
  readonly onPart?: (part: ChartRange) => void
}

/** What a chart shows. */
export interface ChartProps extends ChartTime {
  /** Seconds since 1970, ascending. */
  readonly x: readonly number[]
  readonly series: readonly ChartSeries[]
  /** A value of the vertical axis with its unit. */
  readonly format: (value: number) => string
  /** Values are counts: no mark of the vertical axis is a fraction. */
  readonly whole?: boolean
  /** The upper end of the vertical axis; default: a little over the highest value. */
  readonly top?: number
  /** Summary for screen readers: title, latest and maximum value. */
  readonly summary: string
  /** px; default 160. */
  readonly height?: number
  /** Charts with the same key show their values at the same time together. */
  readonly syncKey?: string
}
