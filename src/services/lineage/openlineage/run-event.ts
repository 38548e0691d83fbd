import type { EventView } from '../../events/event-feed.ts'

/** Transitions of a run (OpenLineage 2-0-2, `RunEvent`). */
export type RunState = 'START' | 'COMPLETE' | 'FAIL' | 'ABORT'

/** What an event of the event log says about a run: of an operation, or of a pipeline from its start to its end. */
export interface RunChange {
  readonly state: RunState
  /** The id of the operation, or of the run of the pipeline. */
  readonly run: string
  /** The name of the job, the same for all of its runs. */
  readonly job: string
  readonly kind: 'OPERATION' | 'PIPELINE'
  readonly at: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Why it failed. */
  readonly error: string | undefined
}

/** The change of a run that an event reports; undefined for all other events. */
export function runChange(event: EventView): RunChange | undefined {
  if (event.object_type === 'operation') return operationChange(event)
  return event.object_type === 'pipeline' ? pipelineChange(event) : undefined
}

function operationChange({ type, at, object_id: run, data }: EventView): RunChange | undefined {
  const state = operationState(type, data['state'])
  if (state === undefined) return undefined
  const table = textOf(data, 'table')
  const job = `${textOf(data, 'operation')}.${table}`
  return { state, run, job, kind: 'OPERATION', at, inputs: [table], outputs: [table], error: errorOf(data) }
}

/** A failure is reported by its own event, which has the reason; `unknown` is the outcome that nobody could find out. */
function operationState(type: string, state: unknown): RunState | undefined {
  if (type === 'operation.started') return 'START'
  if (type === 'operation.failed') return 'FAIL'
  if (type !== 'operation.finished' || state === 'failed') return undefined
  return state === 'succeeded' ? 'COMPLETE' : 'ABORT'
}

const PIPELINE_STATES: Readonly<Record<string, RunState>> = {
  'pipeline.started': 'START',
  'pipeline.stopped': 'COMPLETE',
  'pipeline.failed': 'FAIL',
}

function pipelineChange({ type, at, data }: EventView): RunChange | undefined {
  const state = PIPELINE_STATES[type]
  const { source_tables: sources, definition, environment } = data
  if (state === undefined || !Array.isArray(sources)) return undefined
  const inputs = sources.filter((name) => typeof name === 'string')
  const sink = textOf(data, 'sink_table')
  const job =
    typeof definition === 'string'
      ? `${definition}.${typeof environment === 'string' ? environment : 'none'}`
      : `copy.${inputs.join('+')}.${sink}`
  return {
    state,
    run: textOf(data, 'run_id'),
    job,
    kind: 'PIPELINE',
    at,
    inputs,
    outputs: [sink],
    error: errorOf(data),
  }
}

function textOf(data: EventView['data'], name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

function errorOf({ error }: EventView['data']): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error) || !('message' in error)) return undefined
  return `${String(error.code)}: ${String(error.message)}`
}
