import { sparklinePath } from './sparkline-path.ts'
import classes from '../pipelines.module.css'

const WIDTH = 120
const HEIGHT = 20

/** A small line chart; `label` describes it for screen readers. */
export function Sparkline({ values, label }: { readonly values: readonly (number | null)[]; readonly label: string }) {
  return (
    <svg
      className={classes.spark}
      width={`${WIDTH / 16}rem`}
      height={`${HEIGHT / 16}rem`}
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      role="img"
      aria-label={label}
    >
      <path d={sparklinePath(values, WIDTH, HEIGHT)} />
    </svg>
  )
}
