/** The box of a sparkline, and the figure at its upper edge; default: the highest of the figures. */
export interface SparklineBox {
  readonly width: number
  readonly height: number
  readonly top?: number | undefined
}

/**
 * Figures as an SVG path in a box, from left to right; the scale begins at 0. A null is a gap; a figure between two gaps
 * is a line of no length, which a round cap draws as a dot. Empty for fewer than two places.
 */
export function sparklinePath(values: readonly (number | null)[], { width, height, top: limit }: SparklineBox): string {
  if (values.length < 2) return ''
  let top = limit ?? 0
  if (limit === undefined) for (const value of values) top = Math.max(top, value ?? 0)
  const step = width / (values.length - 1)
  const y = (value: number): number => (top === 0 ? height : height - (value / top) * height)
  const parts = values.map((value, at) => {
    if (value === null) return ''
    const place = `${round(at * step)},${round(y(value))}`
    if (at > 0 && values[at - 1] !== null) return `L${place}`
    const isLone = at === values.length - 1 || values[at + 1] === null
    return isLone ? `M${place}h0` : `M${place}`
  })
  return parts.join('')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
