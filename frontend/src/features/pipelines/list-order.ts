import type { Pipeline } from '../../api/types.ts'
import { lastBatch, type LiveRow } from './monitor/state.ts'
import { rateOf } from './monitor/sample.ts'

export const STATES = [
  'failed',
  'degraded',
  'starting',
  'stopping',
  'running',
  'stopped',
] as const satisfies readonly Pipeline['state'][]

export const SORT_KEYS = ['attention', 'name', 'rate', 'lag', 'duration', 'started'] as const
export type SortKey = (typeof SORT_KEYS)[number]

/** The filters of the list. */
export interface ListFilter {
  /** Part of a table's name, of the checkpoint or of the id, in any case. */
  readonly text: string
  readonly state: Pipeline['state'] | undefined
}

export interface ListSort {
  readonly key: SortKey
  readonly descending: boolean
}

const RANK: Readonly<Record<Pipeline['state'], number>> = {
  failed: 0,
  degraded: 1,
  starting: 2,
  stopping: 3,
  running: 4,
  stopped: 5,
}

/** The ids that a list shows, in its order. `attention`: pipelines with errors first, then running ones, by sink. */
export function orderedIds(rows: ReadonlyMap<string, LiveRow>, filter: ListFilter, sort: ListSort): string[] {
  const text = filter.text.trim().toLowerCase()
  const shown = [...rows.values()].filter(({ pipeline }) => {
    if (filter.state !== undefined && pipeline.state !== filter.state) return false
    return text === '' || searchText(pipeline).includes(text)
  })
  const direction = sort.descending ? -1 : 1
  shown.sort((a, b) => direction * compare(sort.key, a, b) || byName(a, b))
  return shown.map(({ pipeline }) => pipeline.id)
}

/** How many pipelines are in each state. */
export function countByState(rows: ReadonlyMap<string, LiveRow>): Readonly<Record<Pipeline['state'], number>> {
  const counts = { failed: 0, degraded: 0, starting: 0, stopping: 0, running: 0, stopped: 0 }
  for (const { pipeline } of rows.values()) counts[pipeline.state] += 1
  return counts
}

function searchText({ id, source_tables, sink_table, checkpoint_location }: Pipeline): string {
  return [id, ...source_tables, sink_table, checkpoint_location].join(' ').toLowerCase()
}

function compare(key: SortKey, a: LiveRow, b: LiveRow): number {
  if (key === 'name') return byName(a, b)
  if (key === 'attention') return RANK[a.pipeline.state] - RANK[b.pipeline.state]
  if (key === 'started') return compareText(a.pipeline.started_at ?? '', b.pipeline.started_at ?? '')
  return figure(key, a) - figure(key, b)
}

function figure(key: 'rate' | 'lag' | 'duration', row: LiveRow): number {
  const { last } = row.samples
  if (last === undefined) return -1
  if (key === 'rate') return rateOf(last) ?? 0
  return key === 'lag' ? last.lagSeconds : (lastBatch(row)?.durationMs ?? -1)
}

function byName(a: LiveRow, b: LiveRow): number {
  return compareText(a.pipeline.sink_table, b.pipeline.sink_table) || compareText(a.pipeline.id, b.pipeline.id)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
