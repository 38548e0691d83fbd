import type { BatchProgress } from '../streaming/batch-progress.ts'
import type { HubNews, MetricsHub } from '../streaming/metrics-hub.ts'
import type { PipelineView } from '../streaming/pipeline-view.ts'

/** A trigger as a chart draws it. */
export interface ProgressPoint {
  readonly at: string
  readonly batch_id: number
  readonly num_input_rows: number
  readonly num_output_rows: number
  readonly input_rows_per_second: number | null
  readonly processed_rows_per_second: number | null
  readonly batch_duration_ms: number
  /** What is not read yet, of all sources together; seconds of the one that is furthest behind. */
  readonly lag_rows: number
  readonly lag_seconds: number
}

/** When a pipeline came into a state. */
export interface StateChange {
  readonly at: string
  readonly state: PipelineView['state']
  readonly run_id: string
  readonly error: PipelineView['error']
}

/** What this process saw of a pipeline, oldest first. */
export interface PipelineHistoryView {
  /** Since when this process looks. */
  readonly since: string
  readonly progress: readonly ProgressPoint[]
  readonly states: readonly StateChange[]
}

/** Remembers the last triggers and states of each pipeline, for charts that begin with more than the present. */
export interface PipelineHistory {
  of(pipelineId: string): PipelineHistoryView
  /** Drops what is known of a pipeline that is gone. */
  forget(pipelineId: string): void
}

const MAX_POINTS = 300
const MAX_STATES = 100
/** A line is cut to its limit when it is a quarter longer, so that a point costs no copy of the line. */
const SLACK = 1.25

interface Lines {
  readonly progress: ProgressPoint[]
  readonly states: StateChange[]
}

/** A history in memory: it begins with the process, and has what runs in it. */
export function createPipelineHistory(hub: MetricsHub, now: () => Date): PipelineHistory {
  const since = now().toISOString()
  const lines = new Map<string, Lines>()
  hub.listen((news) => {
    let known = lines.get(news.pipelineId)
    if (known === undefined) lines.set(news.pipelineId, (known = { progress: [], states: [] }))
    keep(known, news, now)
  })
  return {
    of(pipelineId) {
      const { progress, states } = lines.get(pipelineId) ?? { progress: [], states: [] }
      return { since, progress: progress.slice(-MAX_POINTS), states: states.slice(-MAX_STATES) }
    },
    forget: (pipelineId) => void lines.delete(pipelineId),
  }
}

function keep({ progress, states }: Lines, { kind, payload }: HubNews, now: () => Date): void {
  if (kind === 'progress') {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the hub carries one shape for each kind
    push(progress, pointOf(payload as BatchProgress), MAX_POINTS)
    return
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  const { state, run_id, error } = payload as PipelineView
  const last = states.at(-1)
  const isSame = last?.state === state && last.run_id === run_id && last.error?.message === error?.message
  if (!isSame) push(states, { at: now().toISOString(), state, run_id, error }, MAX_STATES)
}

function push<T>(line: T[], item: T, limit: number): void {
  line.push(item)
  if (line.length > limit * SLACK) line.splice(0, line.length - limit)
}

function pointOf(progress: BatchProgress): ProgressPoint {
  let rows = 0
  let seconds = 0
  for (const { lag } of progress.sources) {
    rows += lag.rows
    seconds = Math.max(seconds, lag.seconds)
  }
  return {
    at: progress.timestamp,
    batch_id: progress.batch_id,
    num_input_rows: progress.num_input_rows,
    num_output_rows: progress.sink.num_output_rows,
    input_rows_per_second: progress.input_rows_per_second,
    processed_rows_per_second: progress.processed_rows_per_second,
    batch_duration_ms: progress.batch_duration_ms,
    lag_rows: rows,
    lag_seconds: seconds,
  }
}
