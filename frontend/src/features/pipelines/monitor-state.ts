import type { MonitorMessage, Pipeline } from '../../api/types.ts'
import { RingBuffer } from './ring-buffer.ts'
import { isIdle, lastSampleOf, type Sample, sampleOf } from './sample.ts'

/** Triggers that are kept of each pipeline for its sparkline and charts. */
export const SAMPLES_KEPT = 300

/** A pipeline as it is now; a new object whenever something about it changes. */
export interface LiveRow {
  readonly pipeline: Pipeline
  /** Grows in place: what draws it looks again when the row is another one. */
  readonly samples: RingBuffer<Sample>
  /** The newest trigger that ran a batch; undefined: none yet. Idle triggers come between batches. */
  readonly batch: Sample | undefined
}

/** The last batch of a pipeline; undefined when it has had none that this page knows of. */
export function lastBatch(row: LiveRow | undefined): Sample | undefined {
  return row?.batch
}

/** What the monitor has told so far. */
export interface MonitorState {
  readonly rows: ReadonlyMap<string, LiveRow>
  /** Number of the last message; those up to it are not news. */
  readonly seq: number
  /** Messages that were left out because this page was slow. */
  readonly dropped: number
}

export interface MonitorChange {
  readonly state: MonitorState
  /** Pipelines with another row than before. */
  readonly changed: ReadonlySet<string>
  /** Whether pipelines came, went, or have another state: what an order or a filter may depend on. */
  readonly isListChanged: boolean
}

export const EMPTY_MONITOR: MonitorState = { rows: new Map(), seq: 0, dropped: 0 }

/** Takes messages in at once, as many as came since the last frame was drawn. */
export function applyMessages(state: MonitorState, messages: readonly MonitorMessage[]): MonitorChange {
  const work: Work = { ...state, rows: new Map(state.rows), changed: new Set(), isListChanged: false }
  for (const message of messages) take(work, message)
  const { rows, seq, dropped, changed, isListChanged } = work
  return { state: { rows, seq, dropped }, changed, isListChanged }
}

/** A state without a pipeline that is gone: the monitor does not tell of that. */
export function withoutPipeline(state: MonitorState, id: string): MonitorChange {
  const rows = new Map(state.rows)
  const isListChanged = rows.delete(id)
  return { state: { ...state, rows }, changed: new Set([id]), isListChanged }
}

interface Work {
  rows: Map<string, LiveRow>
  seq: number
  dropped: number
  readonly changed: Set<string>
  isListChanged: boolean
}

function take(work: Work, message: MonitorMessage): void {
  if (message.type === 'hello') {
    greet(work, message.pipelines)
    work.seq = message.seq
    return
  }
  work.dropped += message.dropped
  if (message.type === 'heartbeat' || message.seq <= work.seq) return
  work.seq = message.seq
  const known = work.rows.get(message.pipeline_id)
  if (message.type === 'state') put(work, known, message.pipeline)
  else if (known) {
    const sample = sampleOf(message.progress)
    addSample(known.samples, sample)
    work.rows.set(message.pipeline_id, {
      ...known,
      pipeline: { ...known.pipeline, last_progress: message.progress },
      batch: newestBatch(known.batch, sample),
    })
    work.changed.add(message.pipeline_id)
  }
}

/** After a reconnect what was drawn goes on: samples of pipelines that are still there stay. */
function greet(work: Work, pipelines: readonly Pipeline[]): void {
  const before = work.rows
  work.rows = new Map()
  for (const pipeline of pipelines) put(work, before.get(pipeline.id), pipeline)
  for (const id of before.keys()) if (!work.rows.has(id)) work.changed.add(id)
  work.isListChanged = true
}

function put(work: Work, known: LiveRow | undefined, pipeline: Pipeline): void {
  const samples = known?.samples ?? new RingBuffer<Sample>(SAMPLES_KEPT)
  const sample = lastSampleOf(pipeline)
  if (sample) addSample(samples, sample)
  work.rows.set(pipeline.id, { pipeline, samples, batch: newestBatch(known?.batch, sample) })
  work.changed.add(pipeline.id)
  if (known?.pipeline.state !== pipeline.state) work.isListChanged = true
}

function newestBatch(known: Sample | undefined, sample: Sample | undefined): Sample | undefined {
  return sample && !isIdle(sample) ? sample : known
}

/** Samples keep the order of time: one that is told twice counts once. */
function addSample(samples: RingBuffer<Sample>, sample: Sample): void {
  const { last } = samples
  if (last === undefined || sample.atMs > last.atMs) samples.push(sample)
  else if (sample.atMs === last.atMs) samples.replaceLast(sample)
}
