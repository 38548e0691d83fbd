import { longestSilenceMs } from '../../../../../src/domain/pipelines/silence.ts'
import type { Sample } from './sample.ts'

/** The chart data of a pipeline; null is a gap in the line. */
export interface ChartPoints {
  /** Seconds since 1970, ascending. */
  readonly x: readonly number[]
  readonly samples: readonly (Sample | null)[]
}

/** The samples as points over time, with a gap wherever nothing was reported for longer than the trigger explains. */
export function chartPoints(samples: readonly Sample[], triggerMs: number): ChartPoints {
  const longest = longestSilenceMs(triggerMs)
  const x: number[] = []
  const points: (Sample | null)[] = []
  for (const [at, sample] of samples.entries()) {
    const before = samples[at - 1]
    const end = before ? before.atMs + before.durationMs : sample.atMs
    if (before && (sample.isAfterGap ?? sample.atMs - end > longest)) {
      x.push(Math.min(end + 1, sample.atMs - 1) / 1000)
      points.push(null)
    }
    x.push(sample.atMs / 1000)
    points.push(sample)
  }
  return { x, samples: points }
}
