/** A line of figures as an SVG path in a box, from left to right; the scale begins at 0. Empty for fewer than two figures. */
export function sparklinePath(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return ''
  let top = 0
  for (const value of values) top = Math.max(top, value)
  const step = width / (values.length - 1)
  const y = (value: number): number => (top === 0 ? height : height - (value / top) * height)
  return values.map((value, at) => `${at === 0 ? 'M' : 'L'}${round(at * step)},${round(y(value))}`).join('')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
