/** Size thresholds of a selection, in bytes; see `CompactionOptions`. */
export interface SelectionThresholds {
  readonly targetFileSizeBytes: number
  readonly minFileSizeBytes: number
  readonly maxFileSizeBytes: number
  readonly minInputFiles: number
  readonly rewriteAll: boolean
  readonly deleteFileThreshold: number
  readonly deleteRatioThreshold: number
  readonly maxFileGroupSizeBytes: number
  readonly maxFileGroupInputFiles: number
}

/** How to measure a file in any representation (a scan task, or an index into an array of sizes). */
export interface FileMeasures<T> {
  readonly sizeBytes: (file: T) => number
  readonly recordCount: (file: T) => number
  /** Number of delete files that apply to the file. */
  readonly deleteFileCount: (file: T) => number
  /** Records in those delete files that belong to this file alone. */
  readonly fileScopedDeleteRecords: (file: T) => number
  /** Whether the bounds of the file overlap so much with others that laying its rows out anew helps; default: none. */
  readonly isOverlapping?: (file: T) => boolean
}

/** Why a group is rewritten. */
export type GroupReason =
  | 'rewrite-all'
  | 'enough-input-files'
  | 'enough-content'
  | 'too-much-content'
  | 'too-many-delete-files'
  | 'too-many-deleted-records'
  | 'overlapping-bounds'

export interface SelectedGroup<T> {
  readonly files: readonly T[]
  readonly bytes: number
  readonly reasons: readonly GroupReason[]
}

/** How much each split may exceed its share, so that the last bytes do not create an extra file. */
const SPLIT_OVERHEAD_BYTES = 5 * 1024

/**
 * Chooses which files of one partition to rewrite, and in which groups: files outside the size range or with too many
 * deletes are candidates; candidates are packed in order into groups; a group is kept when it is worth a rewrite.
 * Same decisions as Iceberg's `SizeBasedFileRewritePlanner` and `BinPackRewriteFilePlanner`, apart from files that overlap.
 */
export function selectFileGroups<T>(
  files: readonly T[],
  measures: FileMeasures<T>,
  thresholds: SelectionThresholds,
): SelectedGroup<T>[] {
  const candidates = files.filter((file) => isCandidate(file, measures, thresholds))
  const groups = packInOrder(candidates, measures.sizeBytes, {
    maxWeight: thresholds.maxFileGroupSizeBytes,
    maxItems: thresholds.maxFileGroupInputFiles,
  })
  const selected: SelectedGroup<T>[] = []
  for (const group of groups) {
    const bytes = sum(group, measures.sizeBytes)
    const reasons = groupReasons(group, bytes, { measures, thresholds })
    if (reasons.length > 0) selected.push({ files: group, bytes, reasons })
  }
  return selected
}

/** Packs items into bins without reordering; an item heavier than `maxWeight` gets a separate bin. */
export function packInOrder<T>(
  items: readonly T[],
  weigh: (item: T) => number,
  limits: { readonly maxWeight: number; readonly maxItems: number },
): T[][] {
  const bins: T[][] = []
  let current: T[] = []
  let weight = 0
  for (const item of items) {
    const itemWeight = weigh(item)
    const fits = weight + itemWeight <= limits.maxWeight && current.length < limits.maxItems
    if (current.length > 0 && !fits) {
      bins.push(current)
      current = []
      weight = 0
    }
    current.push(item)
    weight += itemWeight
  }
  if (current.length > 0) bins.push(current)
  return bins
}

type SizeRange = Pick<SelectionThresholds, 'targetFileSizeBytes' | 'minFileSizeBytes' | 'maxFileSizeBytes'>

/** How many files a group of `bytes` is written to. */
export function expectedOutputFiles(bytes: number, range: SizeRange): number {
  const target = range.targetFileSizeBytes
  if (bytes < target) return 1
  const floor = Math.floor(bytes / target)
  if (bytes % target > range.minFileSizeBytes) return floor + 1
  const averageWithoutRemainder = Math.floor(bytes / floor)
  if (averageWithoutRemainder < Math.min(1.1 * target, writeMaxFileSizeBytes(range))) return floor
  return Math.ceil(bytes / target)
}

/** Size that the files written for a group of `bytes` should have, between the target and {@link writeMaxFileSizeBytes}. */
export function targetSplitBytes(bytes: number, range: SizeRange): number {
  const share = Math.floor(bytes / expectedOutputFiles(bytes, range)) + SPLIT_OVERHEAD_BYTES
  return Math.max(range.targetFileSizeBytes, Math.min(share, writeMaxFileSizeBytes(range)))
}

/** Half way between target and maximum: a written file may be a little larger than planned, not too large. */
export function writeMaxFileSizeBytes(range: SizeRange): number {
  return Math.floor(range.targetFileSizeBytes + (range.maxFileSizeBytes - range.targetFileSizeBytes) * 0.5)
}

/** Whether a file is to be rewritten when enough others of its partition are. */
export function isCandidate<T>(file: T, measures: FileMeasures<T>, thresholds: SelectionThresholds): boolean {
  if (thresholds.rewriteAll || measures.isOverlapping?.(file) === true) return true
  const size = measures.sizeBytes(file)
  if (size < thresholds.minFileSizeBytes || size > thresholds.maxFileSizeBytes) return true
  return hasTooManyDeleteFiles(file, measures, thresholds) || hasTooManyDeletedRecords(file, measures, thresholds)
}

interface GroupContext<T> {
  readonly measures: FileMeasures<T>
  readonly thresholds: SelectionThresholds
}

function groupReasons<T>(group: readonly T[], bytes: number, { measures, thresholds }: GroupContext<T>): GroupReason[] {
  if (thresholds.rewriteAll) return ['rewrite-all']
  const reasons: GroupReason[] = []
  if (group.length > 1 && group.length >= thresholds.minInputFiles) reasons.push('enough-input-files')
  if (group.length > 1 && bytes > thresholds.targetFileSizeBytes) reasons.push('enough-content')
  if (bytes > thresholds.maxFileSizeBytes) reasons.push('too-much-content')
  if (group.some((file) => hasTooManyDeleteFiles(file, measures, thresholds))) reasons.push('too-many-delete-files')
  if (group.some((file) => hasTooManyDeletedRecords(file, measures, thresholds))) {
    reasons.push('too-many-deleted-records')
  }
  if (group.filter((file) => measures.isOverlapping?.(file) === true).length > 1) reasons.push('overlapping-bounds')
  return reasons
}

function hasTooManyDeleteFiles<T>(file: T, measures: FileMeasures<T>, thresholds: SelectionThresholds): boolean {
  return measures.deleteFileCount(file) >= thresholds.deleteFileThreshold
}

function hasTooManyDeletedRecords<T>(file: T, measures: FileMeasures<T>, thresholds: SelectionThresholds): boolean {
  if (measures.deleteFileCount(file) === 0) return false
  const records = measures.recordCount(file)
  if (records === 0) return false
  return Math.min(measures.fileScopedDeleteRecords(file), records) / records >= thresholds.deleteRatioThreshold
}

function sum<T>(items: readonly T[], weigh: (item: T) => number): number {
  let total = 0
  for (const item of items) total += weigh(item)
  return total
}
