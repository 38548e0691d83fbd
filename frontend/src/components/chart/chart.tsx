import { useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useZone } from '../../time/time-settings.ts'
import classes from './chart.module.css'
import { chartOptions } from './chart-options.ts'

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

export interface ChartProps {
  /** Seconds since 1970, ascending. */
  readonly x: readonly number[]
  readonly series: readonly ChartSeries[]
  /** A value of the vertical axis with its unit. */
  readonly format: (value: number) => string
  /** Values are counts: no mark of the vertical axis is a fraction. */
  readonly whole?: boolean
  /** Summary for screen readers: title, latest and maximum value. */
  readonly summary: string
  /** px; default 160. */
  readonly height?: number
  /** Charts with the same key show their values at the same time together. */
  readonly syncKey?: string
}

/**
 * A chart over time that follows the colour scheme, the width and the time zone of the page. The pointer shows the time
 * and the values under it; `summary` is the text alternative.
 */
export function Chart(props: ChartProps) {
  const { x, series, summary, height = 160, syncKey } = props
  const { ref, width } = useElementSize()
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const scheme = useComputedColorScheme('light')
  const zone = useZone()
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })
  const shape = series.map(({ label, color, fill, kind }) => [label, color, fill, kind].join(' ')).join('|')

  useEffect(() => {
    if (holder.current === null || width === 0) return undefined
    const options = chartOptions(latest.current, { width, height, zone })
    const made = new UPlot(options, dataOf(latest.current), holder.current)
    plot.current = made
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [scheme, shape, width, height, zone, syncKey])

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
