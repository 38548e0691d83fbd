import { ranges as words } from '../../../strings/everywhere/ranges.ts'
import { useZone } from '../../../time/time-settings.ts'
import type { RangeBounds, RangeSpec } from './chart-range.ts'
import classes from './range-bar.module.css'
import { formatEnd } from './range-times.ts'

interface EmptyRangeProps {
  readonly spec: RangeSpec
  readonly bounds: RangeBounds
  /** The oldest stored value, ms since 1970; undefined: none, or not known. */
  readonly oldestMs?: number | undefined
}

/** Takes the place of the charts of a range without values. */
export function EmptyRange({ spec, bounds: { fromMs, toMs }, oldestMs }: EmptyRangeProps) {
  const zone = useZone()
  const time = (ms: number): string => formatEnd(ms, spec, zone)
  return (
    <p className={classes.none}>
      {words.none(time(fromMs), time(toMs))} {oldestMs !== undefined && words.oldest(time(oldestMs))}
    </p>
  )
}
