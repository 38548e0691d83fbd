import type { IndexedTable, Pipeline } from '../../api/types.ts'
import { formatPercent, formatPlural } from '../../strings/everywhere/units.ts'
import { overview } from '../../strings/overview.ts'
import { isAlive, isLagKnown } from '../pipelines/pipeline-life.ts'

const words = overview.attention

/** From this share of deleted rows on, deletes are named as a reason; scores lose points for less already. */
const MANY_DELETED = 0.001
const MANY_SNAPSHOTS = 100
const MANY_MANIFESTS = 100

/** Whether a table belongs to those that need attention. */
export function needsAttention({ band, is_stale: isStale }: IndexedTable): boolean {
  return band !== 'good' || isStale
}

/** Why a table needs attention, from its figures. */
export function reasonsOf(table: IndexedTable): string {
  if (table.problem !== null) return table.problem
  const reasons = [
    table.is_stale && words.stale(table.freshness_target ?? ''),
    table.small_file_count > 0 &&
      words.small(String(table.small_file_count), formatPlural(table.data_file_count, 'data file')),
    table.delete_ratio >= MANY_DELETED &&
      words.deletes(formatPlural(table.delete_file_count, 'delete file'), formatPercent(table.delete_ratio)),
    table.snapshot_count >= MANY_SNAPSHOTS && formatPlural(table.snapshot_count, 'snapshot'),
    table.manifest_count >= MANY_MANIFESTS && formatPlural(table.manifest_count, 'manifest'),
  ].filter((reason) => reason !== false)
  return reasons.length === 0 ? words.seeHealth : reasons.join('; ')
}

/** How far a pipeline is behind its furthest source, s; undefined when that is not known. */
export function lagOf(pipeline: Pipeline): number | undefined {
  if (!isAlive(pipeline) || !isLagKnown(pipeline) || pipeline.last_progress === null) return undefined
  return Math.max(0, ...pipeline.last_progress.sources.map(({ lag }) => lag.seconds))
}

/** Rows that a pipeline has not read yet, of all sources. */
export function unreadRows({ last_progress: progress }: Pipeline): number {
  return progress?.sources.reduce((sum, { lag }) => sum + lag.rows, 0) ?? 0
}

/** The pipelines that are behind, furthest first. */
export function furthestBehind(pipelines: readonly Pipeline[], count: number): readonly Pipeline[] {
  return pipelines
    .filter((pipeline) => (lagOf(pipeline) ?? 0) > 0)
    .toSorted((a, b) => (lagOf(b) ?? 0) - (lagOf(a) ?? 0))
    .slice(0, count)
}
