import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MonitorMessage, Pipeline, PipelineHistory, PipelineProgress } from '../../frontend/src/api/types.ts'
import { countByState, orderedIds } from '../../frontend/src/features/pipelines/list-order.ts'
import {
  applyMessages,
  EMPTY_MONITOR,
  lastBatch,
  type MonitorState,
  SAMPLES_KEPT,
  withoutPipeline,
} from '../../frontend/src/features/pipelines/monitor/state.ts'
import { chartPoints } from '../../frontend/src/features/pipelines/monitor/chart-points.ts'
import { currentRate, isLagKnown } from '../../frontend/src/features/pipelines/pipeline-life.ts'
import { isMerging, modesOfGraph } from '../../frontend/src/features/pipelines/modes.ts'
import { isIdle, sampleOf } from '../../frontend/src/features/pipelines/monitor/sample.ts'
import { joinedSamples } from '../../frontend/src/features/pipelines/monitor/samples-of.ts'
import { RingBuffer } from '../../frontend/src/features/pipelines/monitor/ring-buffer.ts'
import { sparklinePath } from '../../frontend/src/components/chart/sparkline-path.ts'

function progress(second: number, rows = 10, lagRows = 0): PipelineProgress {
  const lag = { snapshots: 0, files: 0, rows: lagRows, bytes: 0, seconds: lagRows }
  return {
    id: 'q',
    run_id: 'run-1',
    batch_id: second,
    timestamp: new Date(second * 1000).toISOString(),
    batch_duration_ms: 100,
    num_input_rows: rows,
    input_rows_per_second: rows,
    processed_rows_per_second: rows * 10,
    duration_ms: {},
    sources: [
      { description: 's', start_offset: null, end_offset: null, latest_offset: null, num_input_rows: rows, lag },
      { description: 't', start_offset: null, end_offset: null, latest_offset: null, num_input_rows: 0, lag },
    ],
    sink: { description: 'k', num_output_rows: rows, snapshot_id: null },
    rows_diverted: 0,
    rows_dropped: 0,
    checks: [],
  }
}

function pipeline(id: string, more: Partial<Pipeline> = {}): Pipeline {
  return {
    id,
    run_id: 'run-1',
    source_table: 's.src',
    source_tables: ['s.src'],
    sink_table: `s.${id}`,
    lookup_tables: [],
    divert_tables: [],
    checkpoint_location: `file:///home/checkpoints/${id}`,
    trigger_interval: '1 s',
    engine: 'embedded',
    state: 'running',
    desired_state: 'running',
    error: null,
    warnings: [],
    from: null,
    into_branch: null,
    on_delete: 'fail',
    read: 'appends',
    write: 'append',
    key: null,
    on_schema_change: null,
    create_sink_table: false,
    max_files_per_batch: 1000,
    max_bytes_per_batch: 1024,
    query_id: 'q',
    created_by: 'ana',
    created_at: '2026-01-01T00:00:00.000Z',
    started_at: null,
    stopped_at: null,
    definition_id: null,
    version_id: null,
    environment: null,
    last_progress: null,
    ...more,
  }
}

const hello = (seq: number, ...pipelines: Pipeline[]): MonitorMessage => ({
  type: 'hello',
  seq,
  at: '2026-01-01T00:00:00.000Z',
  pipelines,
})
const news = (seq: number, id: string, at: number, dropped = 0): MonitorMessage => ({
  type: 'progress',
  seq,
  dropped,
  pipeline_id: id,
  progress: progress(at),
})
/** A trigger without rows. */
const quiet = (seq: number, id: string, at: number): MonitorMessage => ({
  type: 'progress',
  seq,
  dropped: 0,
  pipeline_id: id,
  progress: { ...progress(at, 0), batch_duration_ms: 0 },
})
const state = (seq: number, one: Pipeline): MonitorMessage => ({
  type: 'state',
  seq,
  dropped: 0,
  pipeline_id: one.id,
  pipeline: one,
})

const after = (...messages: MonitorMessage[]): MonitorState => applyMessages(EMPTY_MONITOR, messages).state
const secondsOf = (from: MonitorState, id: string): number[] =>
  (from.rows.get(id)?.samples.toArray() ?? []).map(({ atMs }) => atMs / 1000)

describe('the state of the monitor', () => {
  it('starts with all pipelines and adds a sample for each trigger', () => {
    const first = after(hello(3, pipeline('a'), pipeline('b', { last_progress: progress(5) })))
    expect([...first.rows.keys()]).toEqual(['a', 'b'])
    expect(secondsOf(first, 'b')).toEqual([5])
    const { state: second, changed, isListChanged } = applyMessages(first, [news(4, 'b', 6), news(5, 'b', 7)])
    expect(secondsOf(second, 'b')).toEqual([5, 6, 7])
    expect([...changed]).toEqual(['b'])
    expect(isListChanged).toBe(false)
    expect(second.rows.get('a')).toBe(first.rows.get('a'))
    expect(second.rows.get('b')).not.toBe(first.rows.get('b'))
    expect(second.rows.get('b')?.pipeline.last_progress?.batch_id).toBe(7)
  })

  it('keeps the last batch through idle triggers, and has none before the first batch', () => {
    const busy = after(hello(1, pipeline('a', { last_progress: progress(5) })), quiet(2, 'a', 6), quiet(3, 'a', 7))
    expect([lastBatch(busy.rows.get('a'))?.batchId, busy.rows.get('a')?.samples.last?.batchId]).toEqual([5, 7])
    const { state: greeted } = applyMessages(busy, [
      hello(1, pipeline('a', { last_progress: { ...progress(8, 0), batch_duration_ms: 0 } })),
    ])
    expect(lastBatch(greeted.rows.get('a'))?.batchId).toBe(5)
    const idle = after(hello(1, pipeline('a')), quiet(2, 'a', 6))
    expect(lastBatch(idle.rows.get('a'))).toBeUndefined()
  })

  it('sums the lag of all sources and uses the time of the one furthest behind', () => {
    const one = after(hello(1, pipeline('a', { last_progress: progress(1, 10, 4) })))
    expect(one.rows.get('a')?.samples.last).toMatchObject({
      lagRows: 8,
      lagSeconds: 4,
      inputRate: 10,
      processedRate: 100,
    })
  })

  it('ignores messages already included in the first one, and duplicate samples', () => {
    const now = after(hello(10, pipeline('a', { last_progress: progress(5) })), news(9, 'a', 4), news(11, 'a', 5))
    expect(secondsOf(now, 'a')).toEqual([5])
    expect(now.seq).toBe(11)
  })

  it('keeps the samples after a reconnect, also to a process that counts from the beginning', () => {
    const before = after(hello(100, pipeline('a')), news(101, 'a', 1), news(102, 'a', 2))
    const { state: again, isListChanged } = applyMessages(before, [
      hello(1, pipeline('a', { last_progress: progress(3) })),
      news(2, 'a', 4),
    ])
    expect(secondsOf(again, 'a')).toEqual([1, 2, 3, 4])
    expect(isListChanged).toBe(true)
  })

  it('removes pipelines that the first message no longer lists, and adds those started by other clients', () => {
    const before = after(hello(1, pipeline('a'), pipeline('b')))
    const { state: now, changed } = applyMessages(before, [hello(2, pipeline('b')), state(3, pipeline('c'))])
    expect([...now.rows.keys()]).toEqual(['b', 'c'])
    expect(changed.has('a')).toBe(true)
  })

  it('reports a change of the list only when the state of a pipeline changes', () => {
    const before = after(hello(1, pipeline('a')))
    expect(applyMessages(before, [state(2, pipeline('a', { warnings: ['w'] }))]).isListChanged).toBe(false)
    const failed = pipeline('a', { state: 'failed' })
    const { state: now, isListChanged } = applyMessages(before, [state(2, failed)])
    expect(isListChanged).toBe(true)
    expect(countByState(now.rows).failed).toBe(1)
  })

  it('counts omitted messages, and ignores messages about unknown pipelines', () => {
    const now = after(hello(1, pipeline('a')), news(2, 'a', 1, 7), news(3, 'zzz', 1, 2))
    expect(now.dropped).toBe(9)
    expect([...now.rows.keys()]).toEqual(['a'])
    expect(withoutPipeline(now, 'a').state.rows.size).toBe(0)
  })

  it('is the same for any split of the messages, and never exceeds the sample limit', () => {
    const messages = [hello(0, pipeline('a'), pipeline('b'))]
    for (let i = 1; i <= SAMPLES_KEPT + 50; i++) messages.push(news(i, i % 7 === 0 ? 'b' : 'a', i))
    const whole = after(...messages)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
        let now = EMPTY_MONITOR
        for (let at = 0, turn = 0; at < messages.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1
          now = applyMessages(now, messages.slice(at, at + size)).state
          at += size
        }
        expect(secondsOf(now, 'a')).toEqual(secondsOf(whole, 'a'))
        expect(secondsOf(now, 'b')).toEqual(secondsOf(whole, 'b'))
      }),
      { numRuns: 30 },
    )
    expect(whole.rows.get('a')?.samples.length).toBe(SAMPLES_KEPT)
  })
})

describe('the rate of a pipeline', () => {
  const sample = (at: number) => ({
    atMs: at,
    batchId: 1,
    rows: 10,
    inputRate: 5,
    processedRate: 50,
    durationMs: 100,
    merged: { inserted: 10, updated: 0, deleted: 0 },
    lagRows: 0,
    lagSeconds: 0,
  })

  it('is that of its last batch, or of that batch alone when there was none before', () => {
    expect(currentRate(pipeline('a'), sample(1000), 2000)).toBe(5)
    expect(currentRate(pipeline('a'), { ...sample(1000), inputRate: null }, 2000)).toBe(50)
    expect(currentRate(pipeline('a'), { ...sample(1000), rows: 0 }, 2000)).toBe(0)
  })

  it('is 0 after a while without batches, and absent when the pipeline does not run', () => {
    expect(currentRate(pipeline('a'), sample(0), 60_000)).toBe(0)
    expect(currentRate(pipeline('a', { trigger_interval: '1 min' }), sample(0), 60_000)).toBe(5)
    expect(currentRate(pipeline('a', { state: 'stopped' }), sample(0), 1000)).toBeUndefined()
    expect(currentRate(pipeline('a'), undefined, 1000)).toBeUndefined()
  })
})

describe('the rows that a batch changes', () => {
  const sink = { description: 'k', num_output_rows: 3, snapshot_id: null }
  const counts = { num_inserted_rows: 1, num_updated_rows: 2, num_deleted_rows: 4 }
  const merged = sampleOf({ ...progress(1), sink: { ...sink, ...counts } })

  it('are inserted where an earlier release stored no counts', () => {
    expect(merged.merged).toEqual({ inserted: 1, updated: 2, deleted: 4 })
    expect(sampleOf({ ...progress(1), sink }).merged).toEqual({ inserted: 3, updated: 0, deleted: 0 })
  })

  it('are those of the nodes of a version', () => {
    const source = (config: object) => ({ type: 'iceberg-source', config: { ...config } })
    const sink = (config: object) => ({ type: 'iceberg-sink', config: { ...config } })
    const mirror = { read: 'changes', write: 'mirror', key: ['id'] }
    expect(modesOfGraph([source({ read: 'changes' }), sink({ write: 'mirror', key: ['id'] })])).toEqual(mirror)
    expect(modesOfGraph([source({}), source({ read: 'changes' }), sink({})])).toEqual({
      read: 'mixed',
      write: 'append',
      key: null,
    })
    expect(modesOfGraph([])).toEqual({ read: null, write: 'append', key: null })
  })

  it('are shown for pipelines that merge, and for versions that have replaced or deleted rows', () => {
    expect(isMerging({ write: 'mirror' }, [])).toBe(true)
    expect(isMerging({ write: 'append' }, [merged])).toBe(false)
    expect(isMerging({ write: null }, [merged])).toBe(true)
    expect(isMerging({ write: null }, [sampleOf(progress(1))])).toBe(false)
  })
})

describe('a ring buffer', () => {
  it('contains the last pushed values', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 9 }), (items, capacity) => {
        const ring = new RingBuffer<number>(capacity)
        for (const item of items) ring.push(item)
        expect(ring.toArray()).toEqual(items.slice(-capacity))
        expect(ring.last).toBe(items.at(-1))
        expect(ring.at(0)).toBe(items.slice(-capacity)[0])
        if (items.length === 0) return
        ring.replaceLast(-1)
        expect(ring.toArray()).toEqual([...items.slice(-capacity, -1), -1].slice(-capacity))
      }),
    )
  })
})

describe('the list', () => {
  const rows = after(
    hello(
      1,
      pipeline('a', { state: 'stopped' }),
      pipeline('b', { last_progress: progress(9, 50) }),
      pipeline('c', { state: 'failed', source_tables: ['s.special'] }),
      pipeline('d', { last_progress: progress(9, 10, 100) }),
    ),
  ).rows
  const all = { text: '', state: undefined }

  it('shows pipelines with problems first, and sorts figures in the requested order', () => {
    expect(orderedIds(rows, all, { key: 'attention', descending: false })).toEqual(['c', 'b', 'd', 'a'])
    expect(orderedIds(rows, all, { key: 'rate', descending: true }).slice(0, 2)).toEqual(['b', 'd'])
    expect(orderedIds(rows, all, { key: 'lag', descending: true })[0]).toBe('d')
  })

  it('filters by state and by part of a name', () => {
    expect(orderedIds(rows, { text: 'SPECIAL', state: undefined }, { key: 'name', descending: false })).toEqual(['c'])
    expect(orderedIds(rows, { text: '', state: 'running' }, { key: 'name', descending: true })).toEqual(['d', 'b'])
  })
})

describe('a sparkline', () => {
  it('runs from left to right on a scale that begins at 0', () => {
    expect(sparklinePath([0, 10, 5], { width: 100, height: 20 })).toBe('M0,20L50,0L100,10')
    expect(sparklinePath([0, 0], { width: 10, height: 4 })).toBe('M0,4L10,4')
    expect(sparklinePath([50, 50], { width: 10, height: 4, top: 100 })).toBe('M0,2L10,2')
    expect(sparklinePath([1], { width: 10, height: 4 })).toBe('')
  })

  it('has gaps where nothing was read, and dots for single values', () => {
    expect(sparklinePath([null, 10, null, 5, 10], { width: 100, height: 20 })).toBe('M25,0h0M75,10L100,0')
    expect(sparklinePath([null, null], { width: 10, height: 4 })).toBe('')
  })
})

describe('the points of the charts', () => {
  const sample = (second: number, rows = 10) => ({
    atMs: second * 1000,
    batchId: second,
    rows,
    inputRate: 5,
    processedRate: 50,
    durationMs: rows === 0 ? 0 : 1000,
    merged: { inserted: rows, updated: 0, deleted: 0 },
    lagRows: 0,
    lagSeconds: 0,
  })

  it('have a gap where nothing was reported, counted from the end of the previous batch', () => {
    const points = chartPoints([sample(0), sample(20), sample(60)], 1000)
    expect(points.x).toEqual([0, 20, 21.001, 60])
    expect(points.samples.map((one) => one?.batchId)).toEqual([0, 20, undefined, 60])
  })

  it('have the gaps of stored triggers, between which others may be left out', () => {
    const stored = [sample(0), { ...sample(100), isAfterGap: false }, { ...sample(101), isAfterGap: true }]
    const points = chartPoints(stored, 1000)
    expect(points.x).toEqual([0, 100, 100.999, 101])
    expect(points.samples.map((one) => one?.batchId)).toEqual([0, 100, undefined, 101])
  })

  it('follow stored triggers only with newer live ones', () => {
    const point = { at: '1970-01-01T00:01:40.000Z', batch_id: 7, lag_rows: 0, lag_seconds: 0, after_gap: false }
    const history = { progress: [point] } as unknown as PipelineHistory
    expect(joinedSamples(history, [sample(40), sample(100), sample(110)]).map(({ batchId }) => batchId)).toEqual([
      7, 110,
    ])
    expect(joinedSamples(undefined, [sample(40)]).map(({ batchId }) => batchId)).toEqual([40])
  })

  it('have no gap between triggers with a long interval', () => {
    expect(chartPoints([sample(0), sample(120)], 60_000).x).toEqual([0, 120])
    expect(chartPoints([], 1000)).toEqual({ x: [], samples: [] })
  })

  it('distinguish an idle trigger from a batch that read no row', () => {
    expect(isIdle(sample(1, 0))).toBe(true)
    expect(isIdle({ rows: 0, durationMs: 80 })).toBe(false)
    expect(isIdle(sample(1))).toBe(false)
  })
})

describe('the lag of a pipeline', () => {
  it('is known only while the pipeline checks its source', () => {
    const known = (['running', 'stopping', 'starting', 'degraded', 'stopped', 'failed'] as const).filter((one) =>
      isLagKnown(pipeline('a', { state: one })),
    )
    expect(known).toEqual(['running', 'stopping'])
  })
})
