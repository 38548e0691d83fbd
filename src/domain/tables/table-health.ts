import { count, plural, percent, formatBytes } from '../../lib/text.ts'
import type { Strategy } from './strategies.ts'

/** Number, total size in bytes and records of some files. */
export interface FileTotals {
  readonly count: number
  readonly bytes: number
  readonly records: number
}

/** Health figures of one partition; "small" is under `smallFileThresholdBytes`. */
export interface PartitionFacts {
  /** For people: `day=2024-01-01`; empty for an unpartitioned table. */
  readonly label: string
  readonly files: number
  readonly bytes: number
  readonly smallFiles: number
  readonly smallBytes: number
  readonly deleteFiles: number
}

/** One range of data file sizes; `toBytes` is exclusive, undefined in the last one. */
export interface SizeRange {
  readonly fromBytes: number
  readonly toBytes?: number
  readonly files: number
  readonly bytes: number
}

/** How small files are spread over partitions. */
export interface PartitionMeasures {
  /** Number of files that merging the small files of each partition would save. */
  readonly excessFiles: number
  /** The partition with most excess files. */
  readonly worst?: PartitionFacts & { readonly excessFiles: number }
  readonly largest?: PartitionFacts
}

/** How much the bounds of data files overlap in the columns by which a table is laid out. */
export interface OverlapFacts {
  readonly kind: Exclude<Strategy, 'binpack'>
  readonly columns: readonly string[]
  /** Measured data files; the other figures are means of these. */
  readonly files: number
  /** Other files of the partition. */
  readonly others: number
  /** Of these, files whose bounds overlap. */
  readonly overlaps: number
  /** The same if the rows of each partition were laid out anew. */
  readonly overlapsAfter: number
}

/** All facts that determine the health of a table; counted from manifests, never from snapshot summaries. */
export interface TableHealthFacts {
  readonly snapshotCount: number
  readonly oldestSnapshotAtMs?: number
  readonly dataFiles: FileTotals
  readonly smallFileCount: number
  readonly positionDeletes: FileTotals
  readonly equalityDeletes: FileTotals
  readonly deletionVectors: FileTotals
  readonly manifestCount: number
  readonly manifestBytes: number
  readonly partitionCount: number
  readonly partitions: PartitionMeasures
  readonly histogram: readonly SizeRange[]
  readonly targetFileSizeBytes: number
  /** 75 % of the target: what compaction selects. */
  readonly smallFileThresholdBytes: number
  /** Undefined for a table without a layout, whose bounds may overlap. */
  readonly overlap?: OverlapFacts
}

export type HealthFactorName = 'small_files' | 'deletes' | 'snapshots' | 'manifests' | 'skew' | 'overlap'

/** One reason for a score below 100; `penalty` is in points, at most `max_penalty`. */
export interface HealthFactor {
  readonly name: HealthFactorName
  readonly penalty: number
  readonly max_penalty: number
  readonly detail: string
}

export interface HealthScore {
  /** 0 (needs maintenance now) to 100 (nothing to do). */
  readonly score: number
  readonly factors: readonly HealthFactor[]
}

/** Points each factor can cost. */
const MAX_PENALTY: Readonly<Record<HealthFactorName, number>> = {
  small_files: 40,
  deletes: 30,
  snapshots: 15,
  manifests: 10,
  skew: 5,
  overlap: 10,
}

/** Where a factor starts to cost points (`from`) and where it costs all of them (`to`). */
const LIMITS = {
  excessFiles: { from: 0, to: 50 },
  positionDeleteRatio: { from: 0, to: 0.2 },
  equalityDeleteRatio: { from: 0, to: 0.1 },
  deleteFilesPerDataFile: { from: 0.5, to: 2 },
  filesForFullWeight: { from: 0, to: 12 },
  snapshots: { from: 100, to: 1000 },
  manifests: { from: 100, to: 500 },
  skew: { from: 4, to: 20 },
  needlessOverlaps: { from: 4, to: 50 },
} as const

/** Merging fewer files than this is not worth it; as `min_input_files` of compaction. */
const MIN_INPUT_FILES = 5
const MIB = 1024 * 1024
/** Manifests are merged up to this size (`commit.manifest.target-size-bytes`). */
const TARGET_MANIFEST_BYTES = 8 * MIB
const RANGE_STARTS = [0, MIB, 8 * MIB, 32 * MIB, 128 * MIB, 512 * MIB] as const

/**
 * Scores a table: 100 minus the penalty of each factor, rounded. With `ramp(x, from, to)` = 0 below `from`, 1 above `to`:
 *
 * - small_files, 40 points × ramp(excess files, 0, 50) × (0.6 × excess files / data files + 0.4 × the same share in the
 *   worst partition): one bad partition shows however large the table is, and a few small files cost little.
 * - deletes, 30 points × the worst of ramp(position-deleted records / records, 0, 0.2), ramp(equality delete records /
 *   records, 0, 0.1) and ramp(delete files / data files, 0.5, 2), × ramp(files, 0, 12), so that tiny tables lose few points.
 * - snapshots, 15 points × ramp(snapshots, 100, 1000).
 * - manifests, 10 points × ramp(manifests beyond what 8 MiB each would need, 100, 500).
 * - skew, 5 points × ramp(files in the largest partition / mean, 4, 20), from 4 partitions on.
 * - overlap, 10 points × ramp(needless overlaps of a data file, 4, 50) × needless overlaps / other files of the partition; only for
 *   tables with a sort order or with `lockhouse.cluster-by`. Needless are those that laying rows out anew would remove.
 */
export function scoreTable(facts: TableHealthFacts): HealthScore {
  const factors = [smallFiles, deletes, snapshots, manifests, skew].map((measure) => measure(facts))
  if (facts.overlap !== undefined) factors.push(overlap(facts.overlap))
  const lost = factors.reduce((total, { penalty }) => total + penalty, 0)
  return { score: Math.round(Math.max(0, 100 - lost)), factors }
}

/** Measures partitions: what merging their small files would save, the worst and the largest one. */
export function measurePartitions(
  partitions: Iterable<PartitionFacts>,
  targetFileSizeBytes: number,
): PartitionMeasures {
  let excessFiles = 0
  let worst: PartitionMeasures['worst']
  let largest: PartitionFacts | undefined
  for (const partition of partitions) {
    const excess = excessFilesOf(partition, targetFileSizeBytes)
    excessFiles += excess
    if (excess > (worst?.excessFiles ?? 0)) worst = { ...partition, excessFiles: excess }
    if (partition.files > (largest?.files ?? 0)) largest = partition
  }
  return { excessFiles, ...(worst && { worst }), ...(largest && { largest }) }
}

/** Files that merging the small files of a partition would save; 0 when compaction would leave them alone. */
function excessFilesOf(partition: PartitionFacts, targetFileSizeBytes: number): number {
  const { smallFiles, smallBytes } = partition
  const worthIt = smallFiles >= MIN_INPUT_FILES || (smallFiles > 1 && smallBytes > targetFileSizeBytes)
  return worthIt ? smallFiles - Math.max(1, Math.ceil(smallBytes / targetFileSizeBytes)) : 0
}

/** Counts sizes (bytes) into fixed ranges: from 0, 1, 8, 32, 128 and 512 MiB. */
export class SizeHistogram {
  readonly #ranges = RANGE_STARTS.map(() => ({ files: 0, bytes: 0 }))

  add(sizes: Iterable<number>): void {
    for (const size of sizes) {
      let index = RANGE_STARTS.length - 1
      while (index > 0 && size < (RANGE_STARTS[index] ?? 0)) index -= 1
      const range = this.#ranges[index]
      if (range === undefined) continue
      range.files += 1
      range.bytes += size
    }
  }

  ranges(): SizeRange[] {
    return this.#ranges.map((counts, index) => {
      const toBytes = RANGE_STARTS[index + 1]
      return { fromBytes: RANGE_STARTS[index] ?? 0, ...(toBytes === undefined ? {} : { toBytes }), ...counts }
    })
  }
}

/** All delete files of a table, of any kind. */
export function deleteFileCount(facts: TableHealthFacts): number {
  return facts.positionDeletes.count + facts.equalityDeletes.count + facts.deletionVectors.count
}

function smallFiles(facts: TableHealthFacts): HealthFactor {
  const { excessFiles, worst } = facts.partitions
  const overall = share(excessFiles, facts.dataFiles.count)
  const inWorst = worst === undefined ? 0 : share(worst.excessFiles, worst.files)
  const weight = ramp(excessFiles, LIMITS.excessFiles) * (0.6 * overall + 0.4 * inWorst)
  const counted = `${count(facts.smallFileCount)} of ${plural(facts.dataFiles.count, 'data file')} under ${formatBytes(facts.smallFileThresholdBytes)}`
  const where = worst === undefined || worst.label === '' ? '' : `; most in ${worst.label} (${count(worst.smallFiles)})`
  return factor('small_files', weight, `${counted}; merging would save ${plural(excessFiles, 'file')}${where}`)
}

function deletes(facts: TableHealthFacts): HealthFactor {
  const files = deleteFileCount(facts)
  const records = facts.dataFiles.records
  const byPosition = share(facts.positionDeletes.records + facts.deletionVectors.records, records)
  const byEquality = share(facts.equalityDeletes.records, records)
  const perFile = facts.dataFiles.count === 0 ? 0 : files / facts.dataFiles.count
  const worst = Math.max(
    ramp(byPosition, LIMITS.positionDeleteRatio),
    ramp(byEquality, LIMITS.equalityDeleteRatio),
    ramp(perFile, LIMITS.deleteFilesPerDataFile),
  )
  const weight = worst * ramp(facts.dataFiles.count + files, LIMITS.filesForFullWeight)
  const parts = [
    `${count(facts.positionDeletes.count)} position`,
    `${count(facts.equalityDeletes.count)} equality`,
    plural(facts.deletionVectors.count, 'deletion vector'),
  ]
  const detail =
    files === 0
      ? 'no delete files'
      : `${plural(files, 'delete file')} (${parts.join(', ')}) for ${plural(facts.dataFiles.count, 'data file')}; ` +
        `${percent(Math.max(byPosition, byEquality))} of the rows deleted`
  return factor('deletes', weight, detail)
}

function snapshots(facts: TableHealthFacts): HealthFactor {
  return factor('snapshots', ramp(facts.snapshotCount, LIMITS.snapshots), plural(facts.snapshotCount, 'snapshot'))
}

function manifests(facts: TableHealthFacts): HealthFactor {
  const needed = Math.ceil(facts.manifestBytes / TARGET_MANIFEST_BYTES)
  const detail = `${plural(facts.manifestCount, 'manifest')} of ${formatBytes(facts.manifestBytes)} in all`
  return factor('manifests', ramp(facts.manifestCount - needed, LIMITS.manifests), detail)
}

function skew(facts: TableHealthFacts): HealthFactor {
  const { largest } = facts.partitions
  if (largest === undefined || facts.partitionCount < 4) return factor('skew', 0, 'fewer than 4 partitions')
  const mean = facts.dataFiles.count / facts.partitionCount
  const ratio = largest.files / mean
  const detail = `the largest partition, ${largest.label}, has ${plural(largest.files, 'file')}; the mean is ${mean.toFixed(1)}`
  return factor('skew', ramp(ratio, LIMITS.skew), detail)
}

function overlap(facts: OverlapFacts): HealthFactor {
  const { overlaps, overlapsAfter, others, files } = facts
  const needless = overlaps - overlapsAfter
  const weight = ramp(needless, LIMITS.needlessOverlaps) * share(needless, others)
  const layout = layoutText(facts)
  if (files === 0) return factor('overlap', 0, `no partition has two data files with bounds of the ${layout}`)
  const means = [overlaps, others, overlapsAfter].map((mean) => count(Math.round(mean)))
  const detail = `in the ${layout}, a data file overlaps with ${means[0]} of ${means[1]} others of its partition on average`
  return factor('overlap', weight, `${detail}; about ${means[2]} if rows were laid out anew`)
}

/** A layout in words, such as `Z-order of customer, day`. */
export function layoutText({ kind, columns }: Pick<OverlapFacts, 'kind' | 'columns'>): string {
  const names = { sort: 'sort order', zorder: 'Z-order', hilbert: 'Hilbert order' }
  return `${names[kind]} of ${columns.join(', ')}`
}

function factor(name: HealthFactorName, weight: number, detail: string): HealthFactor {
  const max = MAX_PENALTY[name]
  return { name, penalty: Math.round(weight * max * 10) / 10, max_penalty: max, detail }
}

function ramp(value: number, { from, to }: { readonly from: number; readonly to: number }): number {
  return Math.min(1, Math.max(0, (value - from) / (to - from)))
}

function share(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(1, part / whole)
}
