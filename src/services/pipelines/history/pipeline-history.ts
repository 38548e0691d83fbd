import { parseTriggerInterval } from '../../../domain/pipelines/trigger-interval.ts'
import { longestSilenceMs } from '../../../domain/pipelines/silence.ts'
import type { PipelineHistoryQuery } from '../../../schemas/pipelines.ts'
import type { BatchProgress } from '../../../streaming/sink/batch-progress.ts'
import type { HubEvent, MetricsHub } from '../../../streaming/supervision/metrics-hub.ts'
import type { PipelineView } from '../../../streaming/supervision/pipeline-view.ts'
import { endOf, pointOf, type ProgressPoint, thinProgress } from './progress-point.ts'
import type { StoredProgress } from './stored-progress.ts'

/** A state transition of a pipeline. */
export interface StateChange {
  readonly at: string
  readonly state: PipelineView['state']
  readonly run_id: string
  readonly error: PipelineView['error']
}

/** Triggers and states of a pipeline, oldest first. */
export interface PipelineHistoryView {
  /** When this process started to observe. */
  readonly since: string
  /** The oldest trigger that is known; null: none. */
  readonly oldest: string | null
  readonly progress: readonly ProgressPoint[]
  /** Some triggers of the range are left out of `progress`. */
  readonly is_thinned: boolean
  readonly states: readonly StateChange[]
}

/** Keeps the last triggers and states of each pipeline, and stores triggers for longer ranges. */
export interface PipelineHistory {
  /** The last triggers that this process observed or, with any parameter, the stored ones of a range. */
  of(pipelineId: string, query: PipelineHistoryQuery): Promise<PipelineHistoryView>
  /** Deletes the history of a pipeline that is gone. */
  forget(pipelineId: string): Promise<void>
}

const MAX_POINTS = 300
const MAX_STATES = 100
/** A list is cut to its limit only when it is a quarter longer, so that adding a point does not copy the list. */
const SLACK = 1.25
/** Points of a range unless the request says otherwise. */
const POINTS_OF_RANGE = 1000

interface Lines {
  readonly progress: ProgressPoint[]
  readonly states: StateChange[]
  longestSilenceMs: number
}

/** A history of the pipelines that run in this process, over the stored one of all. */
export function createPipelineHistory(
  hub: MetricsHub,
  stored: Pick<StoredProgress, 'add' | 'list' | 'oldest' | 'forget'>,
  now: () => Date,
): PipelineHistory {
  const since = now().toISOString()
  const lines = new Map<string, Lines>()
  hub.listen((news) => {
    let known = lines.get(news.pipelineId)
    if (known === undefined) {
      known = { progress: [], states: [], longestSilenceMs: longestSilenceMs(0) }
      lines.set(news.pipelineId, known)
    }
    const point = keep(known, news, now)
    if (point !== undefined && !news.isRelayed) stored.add(news.pipelineId, point)
  })
  return {
    async of(pipelineId, query) {
      const { progress, states } = lines.get(pipelineId) ?? { progress: [], states: [] }
      const recent = progress.slice(-MAX_POINTS)
      const oldest = (await stored.oldest(pipelineId)) ?? recent[0]?.at ?? null
      const view = { since, oldest, states: states.slice(-MAX_STATES) }
      const { from, to, points: limit } = query
      if (from === undefined && to === undefined && limit === undefined) {
        return { ...view, progress: recent, is_thinned: false }
      }
      const found = joined(await stored.list(pipelineId, { from, to }), recent, query)
      const shown = thinProgress(found, limit ?? POINTS_OF_RANGE)
      return { ...view, progress: shown, is_thinned: shown.length < found.length }
    },
    forget(pipelineId) {
      lines.delete(pipelineId)
      return stored.forget(pipelineId)
    },
  }
}

/** Stored triggers, in which the recent ones replace those of the same times, because none of them is left out. */
function joined(
  stored: readonly ProgressPoint[],
  recent: readonly ProgressPoint[],
  { from = '', to = '9999' }: PipelineHistoryQuery,
): readonly ProgressPoint[] {
  const byTime = new Map(stored.map((point) => [point.at, point]))
  for (const [place, point] of recent.entries()) {
    const isAfterGap = point.after_gap || (place === 0 && byTime.get(point.at)?.after_gap === true)
    if (point.at >= from && point.at <= to) byTime.set(point.at, { ...point, after_gap: isAfterGap })
  }
  return [...byTime.values()].sort((a, b) => (a.at < b.at ? -1 : 1))
}

/** Adds a trigger or state to the lines of its pipeline; returns the trigger. */
function keep(lines: Lines, { kind, payload }: HubEvent, now: () => Date): ProgressPoint | undefined {
  const { progress, states } = lines
  if (kind === 'progress') {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the hub carries one shape for each kind
    const batch = payload as BatchProgress
    const before = progress.at(-1)
    const silenceMs = before && Date.parse(batch.timestamp) - endOf(before)
    const point = pointOf(batch, silenceMs === undefined || silenceMs > lines.longestSilenceMs)
    push(progress, point, MAX_POINTS)
    return point
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  const { state, run_id, error, trigger_interval: interval } = payload as PipelineView
  lines.longestSilenceMs = longestSilenceMs(parseTriggerInterval(interval) ?? 0)
  const last = states.at(-1)
  const isSame = last?.state === state && last.run_id === run_id && last.error?.message === error?.message
  if (!isSame) push(states, { at: now().toISOString(), state, run_id, error }, MAX_STATES)
  return undefined
}

function push<T>(line: T[], item: T, limit: number): void {
  line.push(item)
  if (line.length > limit * SLACK) line.splice(0, line.length - limit)
}
