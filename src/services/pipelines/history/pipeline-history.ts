import type { BatchProgress } from '../../streaming/sink/batch-progress.ts'
import type { HubEvent, MetricsHub } from '../../streaming/supervision/metrics-hub.ts'
import type { PipelineView } from '../../streaming/supervision/pipeline-view.ts'

/** A trigger as a point in a chart. */
export interface ProgressPoint {
  readonly at: string
  readonly batch_id: number
  readonly num_input_rows: number
  readonly num_output_rows: number
  /** Of the output rows, those with a new key, and those that replaced a row with their key. */
  readonly num_inserted_rows: number
  readonly num_updated_rows: number
  readonly num_deleted_rows: number
  readonly rows_diverted: number
  readonly rows_dropped: number
  readonly input_rows_per_second: number | null
  readonly processed_rows_per_second: number | null
  readonly batch_duration_ms: number
  /** Unread rows of all sources together, and the seconds of the source that is furthest behind. */
  readonly lag_rows: number
  readonly lag_seconds: number
}

/** A state transition of a pipeline. */
export interface StateChange {
  readonly at: string
  readonly state: PipelineView['state']
  readonly run_id: string
  readonly error: PipelineView['error']
}

/** What this process observed of a pipeline, oldest first. */
export interface PipelineHistoryView {
  /** When this process started to observe. */
  readonly since: string
  readonly progress: readonly ProgressPoint[]
  readonly states: readonly StateChange[]
}

/** Stores the last triggers and states of each pipeline, so that charts do not start empty. */
export interface PipelineHistory {
  of(pipelineId: string): PipelineHistoryView
  /** Deletes the history of a pipeline that is gone. */
  forget(pipelineId: string): void
}

const MAX_POINTS = 300
const MAX_STATES = 100
/** A list is cut to its limit only when it is a quarter longer, so that adding a point does not copy the list. */
const SLACK = 1.25

interface Lines {
  readonly progress: ProgressPoint[]
  readonly states: StateChange[]
}

/** A history in memory: it starts with the process, and covers the pipelines that run in it. */
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

function keep({ progress, states }: Lines, { kind, payload }: HubEvent, now: () => Date): void {
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
  const { sink } = progress
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
    num_output_rows: sink.num_output_rows,
    num_inserted_rows: sink.num_inserted_rows,
    num_updated_rows: sink.num_updated_rows,
    num_deleted_rows: sink.num_deleted_rows,
    rows_diverted: progress.rows_diverted,
    rows_dropped: progress.rows_dropped,
    input_rows_per_second: progress.input_rows_per_second,
    processed_rows_per_second: progress.processed_rows_per_second,
    batch_duration_ms: progress.batch_duration_ms,
    lag_rows: rows,
    lag_seconds: seconds,
  }
}
