import { useMemo } from 'react'
import type { FileBounds } from '../../../../api/types.ts'
import { fileBounds as words } from '../../../../strings/statistics.ts'
import { lanesOf } from './lanes.ts'
import classes from './statistics.module.css'

interface BoundsPictureProps {
  readonly bounds: FileBounds
  /** The text alternative. */
  readonly summary: string
}

const WIDTH = 1000
/** Of a bar with one value, so that it is visible. */
const MIN_WIDTH = 3
const MAX_HEIGHT = 240
const LANE_HEIGHT = 12
/** Lower lanes have no gaps, which would show as stripes. */
const MIN_GAPPED = 3

/** The bounds of data files as bars; bars that overlap stand on each other. */
export function BoundsPicture({ bounds, summary }: BoundsPictureProps) {
  const { bars, layout, column, lower, upper } = bounds
  const isSorted = layout?.kind === 'sort' && layout.columns[0] === column?.path
  const { count, laneOf } = useMemo(() => lanesOf(bars, isSorted), [bars, isSorted])
  const lane = Math.min(LANE_HEIGHT, MAX_HEIGHT / Math.max(1, count))
  const height = lane * count
  return (
    <div>
      <svg
        className={classes.picture}
        style={{ height }}
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary}
      >
        {bars.map(({ start, end, lower: from, upper: to, record_count: rows }, at) => {
          const width = Math.max(MIN_WIDTH, (end - start) * WIDTH)
          return (
            <rect
              key={at}
              x={Math.min(start * WIDTH, WIDTH - width)}
              width={width}
              y={height - ((laneOf[at] ?? 0) + (lane < MIN_GAPPED ? 1 : 0.95)) * lane}
              height={lane < MIN_GAPPED ? lane : lane * 0.8}
            >
              <title>{words.bar(from, to, rows)}</title>
            </rect>
          )
        })}
      </svg>
      <div className={classes.ends} aria-hidden="true">
        <span title={lower ?? undefined}>{lower}</span>
        <span title={upper ?? undefined}>{upper}</span>
      </div>
    </div>
  )
}
