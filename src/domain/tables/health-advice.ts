import { deleteFileCount, layoutText } from './table-health.ts'
import { count, formatBytes, percent, plural } from '../../lib/text.ts'
import type { HealthScore, TableHealthFacts } from './table-health.ts'

/** What a compaction of the table would do. */
export interface ProjectedCompaction {
  readonly rewrittenFiles: number
  readonly addedFiles: number
  readonly rewrittenBytes: number
  readonly removedDeleteFiles: number
  /** Overlaps of a data file on average; only when rows are laid out anew. */
  readonly overlaps?: { readonly before: number; readonly after: number }
  readonly scoreAfter: number
}

/** What expiring with the table's own retention would do. */
export interface ProjectedExpiry {
  readonly expiredSnapshots: number
  readonly scoreAfter: number
}

/** What merging manifests would do. */
export interface ProjectedManifestRewrite {
  readonly rewrittenManifests: number
  readonly addedManifests: number
  readonly scoreAfter: number
}

/** What merging position delete files would do. */
export interface ProjectedDeleteRewrite {
  /** Delete files that would be merged or dropped. */
  readonly rewrittenFiles: number
  /** Of these, files that no data file needs. */
  readonly danglingFiles: number
  readonly addedFiles: number
  readonly rewrittenBytes: number
  readonly scoreAfter: number
}

/** What converting equality deletes would do. */
export interface ProjectedConversion {
  readonly convertedFiles: number
  /** Of these, files that no data file needs. */
  readonly danglingFiles: number
  /** At most as many position delete files or deletion vectors. */
  readonly addedFiles: number
  /** Data files whose rows are compared with the deletes. */
  readonly searchedFiles: number
  readonly readBytes: number
  readonly scoreAfter: number
}

export interface Projections {
  readonly compaction?: ProjectedCompaction
  /** Why the table cannot be compacted although it should be. */
  readonly compactionRefused?: string
  readonly expiry?: ProjectedExpiry
  readonly manifests?: ProjectedManifestRewrite
  readonly conversion?: ProjectedConversion
  readonly deletes?: ProjectedDeleteRewrite
}

/** Minimum number of expirable snapshots for a recommendation. */
const MIN_EXPIRABLE = 10
/** Minimum number of delete files of a kind after a compaction for a recommendation; as `min_input_files` of their rewrite. */
const MIN_REMAINING_DELETES = 5

/** Why compacting helps, in one sentence with numbers. */
export function explainCompaction(facts: TableHealthFacts, projected: ProjectedCompaction): string {
  const { rewrittenFiles, addedFiles, rewrittenBytes, removedDeleteFiles, overlaps, scoreAfter } = projected
  const deletes = removedDeleteFiles > 0 ? ` and ${plural(removedDeleteFiles, 'delete file')} removed` : ''
  const what = `${plural(rewrittenFiles, 'data file')} (${formatBytes(rewrittenBytes)}) become ${count(addedFiles)}${deletes}`
  const { worst } = facts.partitions
  const where =
    worst !== undefined && worst.label !== ''
      ? `; the worst partition is ${worst.label} with ${plural(worst.smallFiles, 'small file')}`
      : ''
  const layout =
    overlaps === undefined || facts.overlap === undefined
      ? ''
      : ` in the ${layoutText(facts.overlap)}, so that a data file overlaps with about ${count(Math.round(overlaps.after))} others instead of ${count(Math.round(overlaps.before))}`
  return `${what}${layout}; the score would be ${scoreAfter}${where}`
}

/** Why expiring helps, in one sentence with numbers. */
export function explainExpiry(facts: TableHealthFacts, { expiredSnapshots }: ProjectedExpiry): string {
  const left = facts.snapshotCount - expiredSnapshots
  return `${count(expiredSnapshots)} of ${plural(facts.snapshotCount, 'snapshot')} are past their retention; ${count(left)} would be kept, and files that only the others use would be deleted`
}

/** Why merging manifests helps, in one sentence with numbers. */
export function explainManifestRewrite(projected: ProjectedManifestRewrite): string {
  return `${plural(projected.rewrittenManifests, 'small manifest')} become ${count(projected.addedManifests)}, so that planning a query reads fewer files`
}

/** Why converting equality deletes helps, in one sentence with numbers. */
export function explainConversion(projected: ProjectedConversion): string {
  const { convertedFiles, danglingFiles, searchedFiles, readBytes } = projected
  const files = plural(convertedFiles, 'equality delete file')
  if (danglingFiles === convertedFiles) return `${files} would be dropped, because no data file needs them`
  return (
    `${files} would be replaced by the positions of the deleted rows, so that a query no longer compares each row with all keys; ` +
    `finding them reads ${plural(searchedFiles, 'data file')} (${formatBytes(readBytes)} in total)`
  )
}

/** Whether to recommend converting equality deletes: a compaction that is recommended anyway must leave enough of them. */
export function isWorthConverting(facts: TableHealthFacts, remaining: TableHealthFacts | undefined): boolean {
  return (remaining ?? facts).equalityDeletes.count >= MIN_REMAINING_DELETES
}

/** Why merging position delete files helps, in one sentence with numbers. */
export function explainDeleteRewrite(projected: ProjectedDeleteRewrite): string {
  const { rewrittenFiles, danglingFiles, addedFiles } = projected
  const merged = rewrittenFiles - danglingFiles
  const steps = [
    ...(merged > 0
      ? [`${plural(merged, 'small position delete file')} ${merged === 1 ? 'becomes' : 'become'} ${count(addedFiles)}`]
      : []),
    ...(danglingFiles > 0 ? [`${plural(danglingFiles, 'dangling delete file')} would be dropped`] : []),
  ]
  return `${steps.join(' and ')}, so that a query opens fewer files`
}

/**
 * Whether to recommend merging position delete files: a compaction that is recommended anyway removes the deletes of the files that it
 * rewrites, so enough of them must be left.
 */
export function isWorthMergingDeletes(
  { rewrittenFiles, addedFiles }: Pick<ProjectedDeleteRewrite, 'rewrittenFiles' | 'addedFiles'>,
  remaining: TableHealthFacts | undefined,
): boolean {
  if (addedFiles >= rewrittenFiles) return false
  return remaining === undefined || remaining.positionDeletes.count >= MIN_REMAINING_DELETES
}

/** Whether to recommend a compaction: splitting a large file does not improve the health. */
export function isWorthCompacting(projected: ProjectedCompaction): boolean {
  const { addedFiles, rewrittenFiles, removedDeleteFiles, overlaps } = projected
  return addedFiles < rewrittenFiles || removedDeleteFiles > 0 || overlaps !== undefined
}

/** Whether to recommend an expiry. */
export function isWorthExpiring(facts: TableHealthFacts, expiredSnapshots: number): boolean {
  return expiredSnapshots >= MIN_EXPIRABLE || (expiredSnapshots > 0 && facts.snapshotCount > 100)
}

/** The recommendation as text: what is wrong, what to do first, and the expected result. */
export function recommend(facts: TableHealthFacts, score: HealthScore, projections: Projections): string {
  if (facts.dataFiles.count === 0) return noData(projections, facts)
  const steps: string[] = []
  if (projections.compaction !== undefined) steps.push(`Compact: ${explainCompaction(facts, projections.compaction)}.`)
  if (projections.compactionRefused !== undefined) {
    steps.push(`Compaction is not possible: ${projections.compactionRefused}.`)
  }
  if (projections.conversion !== undefined) {
    steps.push(`Convert equality deletes: ${explainConversion(projections.conversion)}.`)
  }
  if (projections.deletes !== undefined) {
    steps.push(`Rewrite position deletes: ${explainDeleteRewrite(projections.deletes)}.`)
  }
  if (projections.expiry !== undefined) steps.push(`Expire snapshots: ${explainExpiry(facts, projections.expiry)}.`)
  if (projections.manifests !== undefined) {
    steps.push(`Rewrite manifests: ${explainManifestRewrite(projections.manifests)}.`)
  }
  const opening = steps.length === 0 ? healthy(facts, score) : sick(facts, score)
  return [opening, ...steps].join(' ')
}

function noData(projections: Projections, facts: TableHealthFacts): string {
  const { conversion, deletes, expiry } = projections
  const steps = [
    ...(conversion === undefined ? [] : [`convert equality deletes: ${explainConversion(conversion)}`]),
    ...(deletes === undefined ? [] : [`rewrite position deletes: ${explainDeleteRewrite(deletes)}`]),
    ...(expiry === undefined ? [] : [`expire snapshots: ${explainExpiry(facts, expiry)}`]),
  ]
  return `The table has no data files; ${steps.length === 0 ? 'nothing to do' : steps.join('; ')}.`
}

function healthy(facts: TableHealthFacts, { score }: HealthScore): string {
  const { count: files, bytes } = facts.dataFiles
  const small = facts.smallFileCount
  const note =
    small === 0
      ? ''
      : ` ${count(small)} of them ${small === 1 ? 'is' : 'are'} under ${formatBytes(facts.smallFileThresholdBytes)}, too few in each partition for a rewrite.`
  return `Nothing to do (score ${score}): ${plural(files, 'data file')}, ${formatBytes(bytes)} in total.${note}`
}

function sick(facts: TableHealthFacts, { score }: HealthScore): string {
  const { dataFiles, smallFileCount } = facts
  const average = formatBytes(dataFiles.bytes / dataFiles.count)
  const deletes = deleteFileCount(facts)
  const small = `${count(smallFileCount)} of ${plural(dataFiles.count, 'data file')} (${percent(smallFileCount / dataFiles.count)}) are under ${formatBytes(facts.smallFileThresholdBytes)}, ${average} on average`
  return `Score ${score}: ${small}${deletes > 0 ? `, with ${plural(deletes, 'delete file')}` : ''}.`
}
