import type { MonitorMessage, Pipeline } from '../../../api/types.ts'
import { RingBuffer } from './ring-buffer.ts'
import { isIdle, lastSampleOf, type Sample, sampleOf } from './sample.ts'

/** Number of triggers kept per pipeline for its sparkline and charts. */
export const SAMPLES_KEPT = 300

/** The current state of a pipeline; a new object after every change. */
export interface LiveRow {
  readonly pipeline: Pipeline
  /** Mutated in place: components redraw it when the row object changes. */
  readonly samples: RingBuffer<Sample>
  /** The newest trigger that ran a batch; undefined: none yet. There are idle triggers between batches. */
  readonly batch: Sample | undefined
}

/** The last known batch of a pipeline; undefined if there is none. */
export function lastBatch(row: LiveRow | undefined): Sample | undefined {
  return row?.batch
}

/** Everything that the monitor has sent so far. */
export interface MonitorState {
  readonly rows: ReadonlyMap<string, LiveRow>
  /** Number of the last message; messages up to it are ignored. */
  readonly seq: number
  /** Number of messages dropped because this page was slow. */
  readonly dropped: number
}

export interface MonitorChange {
  readonly state: MonitorState
  /** Pipelines whose row changed. */
  readonly changed: ReadonlySet<string>
  /** Whether pipelines were added or removed, or changed their state, which can affect sorting and filters. */
  readonly isListChanged: boolean
}

export const EMPTY_MONITOR: MonitorState = { rows: new Map(), seq: 0, dropped: 0 }

/** Applies all messages since the last frame together. */
export function applyMessages(state: MonitorState, messages: readonly MonitorMessage[]): MonitorChange {
  const work: Work = { ...state, rows: new Map(state.rows), changed: new Set(), isListChanged: false }
  for (const message of messages) take(work, message)
  const { rows, seq, dropped, changed, isListChanged } = work
  return { state: { rows, seq, dropped }, changed, isListChanged }
}

/** A state without a deleted pipeline, which the monitor does not report. */
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

/** After a reconnect, samples of pipelines that still exist are kept. */
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

/** Samples are in time order; duplicates are ignored. */
function addSample(samples: RingBuffer<Sample>, sample: Sample): void {
  const { last } = samples
  if (last === undefined || sample.atMs > last.atMs) samples.push(sample)
  else if (sample.atMs === last.atMs) samples.replaceLast(sample)
}
