import { parseTriggerInterval } from '../../../../src/domain/trigger-interval.ts'
import type { Pipeline } from '../../api/types.ts'
import { rateOf, type Sample } from './sample.ts'

/** Whether a pipeline is at work, so that its figures say something of now. */
export function isAlive({ state }: Pipeline): boolean {
  return state !== 'stopped' && state !== 'failed'
}

/** Whether the lag of the last trigger still holds: a pipeline that starts or retries after an error has not looked. */
export function isLagKnown({ state }: Pipeline): boolean {
  return state === 'running' || state === 'stopping'
}

/** Triggers without rows are told every 10 s to those who watch: what is older is over. */
const QUIET_MS = 20_000

/**
 * The rate of a pipeline now, rows/s: 0 when its last batch was a while ago, for what came through then says nothing of
 * now; undefined when it has none.
 */
export function currentRate(pipeline: Pipeline, last: Sample | undefined, nowMs: number): number | null | undefined {
  if (last === undefined || !isAlive(pipeline)) return undefined
  const triggerMs = parseTriggerInterval(pipeline.trigger_interval) ?? 0
  const isOver = nowMs - last.atMs - last.durationMs > Math.max(QUIET_MS, 3 * triggerMs)
  return isOver ? 0 : rateOf(last)
}
