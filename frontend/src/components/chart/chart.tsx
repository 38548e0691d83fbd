import { useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useZone } from '../../time/time-settings.ts'
import classes from './chart.module.css'
import { chartOptions } from './chart-options.ts'
import type { ChartProps } from './chart-props.ts'

/**
 * A chart over time that follows the colour scheme, the width and the time zone of the page. The pointer shows the time
 * and the values under it, and drags a part of the range if `onPart` is given; `summary` is the text alternative.
 */
export function Chart(props: ChartProps) {
  const { x, series, summary, height = 160, syncKey, bounds } = props
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
    const options = chartOptions(latest.current, { width, height, zone, time: () => latest.current })
    const made = new UPlot(options, dataOf(latest.current), holder.current)
    plot.current = made
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [scheme, shape, width, height, zone, syncKey])

  useEffect(() => {
    plot.current?.setData(dataOf({ x, series }))
  }, [x, series, bounds?.fromMs, bounds?.toMs])

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
