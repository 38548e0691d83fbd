import classes from './sparkline.module.css'
import { sparklinePath } from './sparkline-path.ts'

interface SparklineProps {
  /** From left to right; null is a gap. */
  readonly values: readonly (number | null)[]
  /** Describes it for screen readers, and in its tooltip. */
  readonly label: string
  /** px at a text size of 16 px; default 120. */
  readonly width?: number
  /** The figure at the upper edge; default: the highest of the values. */
  readonly top?: number
}

const WIDTH = 120
const HEIGHT = 20

/** A small line chart; `label` describes it for screen readers. */
export function Sparkline({ values, label, width = WIDTH, top }: SparklineProps) {
  return (
    <svg
      className={classes.spark}
      width={`${width / 16}rem`}
      height={`${HEIGHT / 16}rem`}
      viewBox={`0 -1 ${width} ${HEIGHT + 2}`}
      role="img"
      aria-label={label}
    >
      <path d={sparklinePath(values, { width, height: HEIGHT, top })} />
    </svg>
  )
}
