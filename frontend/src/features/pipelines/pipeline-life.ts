import { parseTriggerInterval } from '../../../../src/domain/pipelines/trigger-interval.ts'
import type { Pipeline } from '../../api/types.ts'
import { rateOf, type Sample } from './monitor/sample.ts'

/** Whether a pipeline is active, so that its figures are current. */
export function isAlive({ state }: Pipeline): boolean {
  return state !== 'stopped' && state !== 'failed'
}

/** Whether the last lag is still valid: a pipeline that starts, or retries after an error, has not measured it. */
export function isLagKnown({ state }: Pipeline): boolean {
  return state === 'running' || state === 'stopping'
}

/** Triggers without rows are reported every 10 s, so an older sample is out of date. */
const QUIET_MS = 20_000

/**
 * The current rate of a pipeline, rows/s: 0 if its last batch is out of date; undefined if it has none.
 */
export function currentRate(pipeline: Pipeline, last: Sample | undefined, nowMs: number): number | null | undefined {
  if (last === undefined || !isAlive(pipeline)) return undefined
  const triggerMs = parseTriggerInterval(pipeline.trigger_interval) ?? 0
  const isOver = nowMs - last.atMs - last.durationMs > Math.max(QUIET_MS, 3 * triggerMs)
  return isOver ? 0 : rateOf(last)
}
