import type { Pipeline } from '../../api/types.ts'
import { formatCount, formatDuration, formatPlural } from '../../strings/everywhere/units.ts'
import { pipelines as words } from '../../strings/pipelines/pipelines.ts'
import type { Sample } from './monitor/sample.ts'

/** Rows per second: `12.5 rows/s`, `4,096 rows/s`; a dash when there is no figure. */
export function formatRate(rate: number | null | undefined): string {
  if (rate === null || rate === undefined) return words.none
  return words.rate(rate > 0 && rate < 9.95 ? rate.toFixed(1) : formatCount(Math.round(rate)))
}

/** The lag of a pipeline, as time if known: `up to date`, `3 min 5 s`, `40 rows`. */
export function formatLag(sample: Pick<Sample, 'lagRows' | 'lagSeconds'> | undefined): string {
  if (sample === undefined) return words.none
  if (sample.lagRows === 0 && sample.lagSeconds === 0) return words.lagNone
  return sample.lagSeconds > 0 ? formatDuration(sample.lagSeconds * 1000) : formatPlural(sample.lagRows, 'row')
}

/** What a pipeline without a version reads and writes, in a sentence. */
export function whatItDoes({ read, write, key }: Pick<Pipeline, 'read' | 'write' | 'key'>): string {
  return words.detail.does[read ?? 'appends'][write ?? 'append'](key?.join(', ') ?? '')
}
