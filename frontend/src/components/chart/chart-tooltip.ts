import type UPlot from 'uplot'
import { common } from '../../strings/everywhere/common.ts'
import { formatTime, type Zone } from '../../time/zone.ts'
import { isolatedText } from '../text/visible/visible-text.ts'
import classes from './chart.module.css'

interface TooltipOptions {
  readonly format: (value: number) => string
  readonly zone: Zone
}

/** px between the pointer and the tooltip. */
const OFFSET = 10

/** Shows the time and the values under the cursor, also under one that another chart of the same key moves. */
export function tooltipPlugin({ format, zone }: TooltipOptions): UPlot.Plugin {
  const box = document.createElement('div')
  box.className = classes.tooltip ?? ''
  box.hidden = true
  const show = (plot: UPlot): void => {
    const { idx, left = -1 } = plot.cursor
    const at = idx === null || idx === undefined ? undefined : plot.data[0][idx]
    box.hidden = at === undefined || left < 0
    if (at === undefined || box.hidden) return
    const lines = [formatTime(new Date(at * 1000), zone), ...valuesAt(plot, idx ?? 0, format)]
    box.replaceChildren(...lines.map(lineOf))
    const width = plot.over.clientWidth
    const isRight = left + OFFSET + box.offsetWidth > width
    box.style.left = `${Math.max(0, isRight ? left - OFFSET - box.offsetWidth : left + OFFSET)}px`
  }
  return { hooks: { init: (plot) => plot.over.append(box), setCursor: show } }
}

function valuesAt({ data, series }: UPlot, idx: number, format: TooltipOptions['format']): string[] {
  const shown = series.slice(1)
  return shown.map(({ label }, at) => {
    const value = data[at + 1]?.[idx]
    const text = value === null || value === undefined ? common.noValue : format(value)
    return shown.length > 1 && typeof label === 'string' ? `${label}: ${text}` : text
  })
}

function lineOf(text: string): HTMLElement {
  const line = document.createElement('div')
  line.textContent = isolatedText(text)
  return line
}
