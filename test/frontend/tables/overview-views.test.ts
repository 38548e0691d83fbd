import { describe, expect, it } from 'vitest'
import type { HealthSample, IndexedTable, Operation, Pipeline, TableListItem } from '../../../frontend/src/api/types.ts'
import { furthestBehind, lagOf, needsAttention, reasonsOf } from '../../../frontend/src/features/overview/reasons.ts'
import type { BulkItem } from '../../../frontend/src/features/tables/bulk/bulk-run.ts'
import { countSteps, describePlan, sumOfPlans } from '../../../frontend/src/features/tables/bulk/bulk-words.ts'
import { scoreLine } from '../../../frontend/src/features/tables/history/chart.tsx'
import { parseListSearch } from '../../../frontend/src/features/tables/search.ts'
import { fitsFilter, measured, tableRows } from '../../../frontend/src/features/tables/table-row.ts'

const indexed = (part: Partial<IndexedTable> = {}): IndexedTable => ({
  table: 'a.b',
  namespace: 'a',
  band: 'good',
  score: 100,
  problem: null,
  data_file_count: 10,
  total_size_bytes: 1000,
  small_file_count: 0,
  delete_file_count: 0,
  delete_ratio: 0,
  snapshot_count: 1,
  manifest_count: 1,
  partition_count: 1,
  record_count: 100,
  held_bytes: 0,
  last_commit_at: null,
  freshness_target: null,
  is_stale: false,
  recommended: [],
  measured_at: '2026-11-23T10:00:00Z',
  ...part,
})

describe('tables that need attention', () => {
  it('are those that are not healthy, and those that are stale', () => {
    expect(needsAttention(indexed())).toBe(false)
    expect(needsAttention(indexed({ band: 'fair' }))).toBe(true)
    expect(needsAttention(indexed({ band: 'unknown', score: null }))).toBe(true)
    expect(needsAttention(indexed({ is_stale: true }))).toBe(true)
  })

  it('have their reasons from their figures, and never none', () => {
    expect(reasonsOf(indexed({ small_file_count: 3, delete_ratio: 0.12, delete_file_count: 2 }))).toBe(
      '3 of 10 data files are small; 2 delete files, 12 % of the rows deleted',
    )
    expect(reasonsOf(indexed({ is_stale: true, freshness_target: '15 minutes' }))).toBe(
      'no new rows for more than 15 minutes',
    )
    expect(reasonsOf(indexed({ problem: 'the metadata file is missing', small_file_count: 3 }))).toBe(
      'the metadata file is missing',
    )
    expect(reasonsOf(indexed({ band: 'fair', score: 70 }))).toBe('See the details of its score.')
  })
})

describe('rows of the list of tables', () => {
  const item = (table: string): TableListItem => ({ table, namespace: 'a', name: table.slice(2) })
  const rows = tableRows(
    [item('a.good'), item('a.bad'), item('a.new'), item('a.stale')],
    [
      indexed({ table: 'a.good' }),
      indexed({ table: 'a.bad', band: 'unknown', score: null, problem: 'unreadable' }),
      indexed({ table: 'a.stale', is_stale: true }),
      indexed({ table: 'a.dropped' }),
    ],
    false,
  )
  const names = (filter: Parameters<typeof fitsFilter>[1]) =>
    rows.filter((row) => fitsFilter(row, filter)).map(({ table }) => table)

  it('are the tables of the catalog, also those that are not measured yet', () => {
    expect(names(undefined)).toEqual(['a.good', 'a.bad', 'a.new', 'a.stale'])
    expect(rows.map((row) => measured(row)?.score)).toEqual([100, undefined, undefined, 100])
  })

  it('are filtered by band, and by freshness', () => {
    expect(names('good')).toEqual(['a.good', 'a.stale'])
    expect(names('unknown')).toEqual(['a.bad'])
    expect(names('stale')).toEqual(['a.stale'])
    expect(names('poor')).toEqual([])
  })

  it('take the filter from the address only if it is one', () => {
    expect(parseListSearch({ health: 'poor', sort: '-held' })).toEqual({ health: 'poor', sort: '-held' })
    expect(parseListSearch({ health: 'best' })).toEqual({})
  })
})

describe('the lag of pipelines', () => {
  const pipeline = (id: string, state: Pipeline['state'], seconds: readonly number[]) =>
    ({ id, state, last_progress: { sources: seconds.map((s) => ({ lag: { seconds: s, rows: 1 } })) } }) as Pipeline

  it('is that of the furthest source, and unknown while it is not measured', () => {
    expect(lagOf(pipeline('a', 'running', [3, 7]))).toBe(7)
    expect(lagOf(pipeline('a', 'starting', [7]))).toBeUndefined()
    expect(lagOf(pipeline('a', 'failed', [7]))).toBeUndefined()
    expect(lagOf({ ...pipeline('a', 'running', []), last_progress: null })).toBeUndefined()
  })

  it('puts the furthest first, without those that are up to date', () => {
    const all = [pipeline('a', 'running', [1]), pipeline('b', 'running', [0]), pipeline('c', 'running', [9])]
    expect(furthestBehind(all, 5).map(({ id }) => id)).toEqual(['c', 'a'])
    expect(furthestBehind(all, 1)).toHaveLength(1)
  })
})

describe('the line of scores', () => {
  const sample = (at: string, score: number) => ({ at, score }) as HealthSample

  const samples = [sample('1970-01-01T00:01:00Z', 80), sample('1970-01-01T00:00:30Z', 60)]

  it('goes from the oldest sample to now, where the last score still holds', () => {
    const line = scoreLine({ samples, previous: null }, { fromMs: 0, toMs: 120_000 }, 90_000)
    expect(line).toEqual({ x: [30, 60, 90], values: [60, 80, 80] })
  })

  it('begins with the score from before the range', () => {
    const previous = sample('1970-01-01T00:00:05Z', 40)
    const line = scoreLine({ samples, previous }, { fromMs: 20_000, toMs: 50_000 }, 90_000)
    expect(line).toEqual({ x: [20, 30, 50], values: [40, 60, 60] })
    expect(scoreLine({ samples: [], previous }, { fromMs: 20_000, toMs: 50_000 }, 90_000)).toEqual({
      x: [20, 50],
      values: [40, 40],
    })
  })

  it('is empty without samples, and in a range before the first', () => {
    expect(scoreLine({ samples: [], previous: null }, { fromMs: 0, toMs: 5000 }, 9000)).toEqual({ x: [], values: [] })
    expect(scoreLine({ samples, previous: null }, { fromMs: 0, toMs: 5000 }, 90_000)).toEqual({ x: [], values: [] })
  })
})

describe('a plan for many tables', () => {
  const ended = (state: Operation['state']) => ({ state }) as Operation
  const items: readonly BulkItem[] = [
    { table: 'a', step: 'planned', planId: '1', details: { rewritten_data_files_count: 5, added_data_files_count: 1 } },
    { table: 'b', step: 'planned', planId: '2', details: { rewritten_data_files_count: 7, added_data_files_count: 2 } },
    { table: 'c', step: 'nothing' },
    { table: 'd', step: 'started', operationId: '3', operation: undefined },
    { table: 'e', step: 'started', operationId: '4', operation: ended('running') },
    { table: 'f', step: 'started', operationId: '5', operation: ended('failed') },
    { table: 'g', step: 'started', operationId: '6', operation: ended('succeeded') },
    { table: 'h', step: 'refused', reason: 'no' },
  ]

  it('sums up the previews of the tables that take part', () => {
    expect(describePlan('compact', sumOfPlans('compact', items))).toBe('12 files → 3, 0 B')
  })

  it('counts as ended only operations that have ended, and as succeeded only those that did', () => {
    expect(countSteps(items)).toMatchObject({ all: 8, planned: 2, started: 4, ended: 2, succeeded: 1 })
  })
})
