import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { truncateUpper } from '../../iceberg/values/truncate.ts'
import { compareValues } from '../../iceberg/values/values.ts'
import type { Layout } from './layout.ts'

/** The bounds of a column in a file; undefined when the file has none: because they are not known, or because all values are NULL. */
export type FileRange = { readonly lower: Value; readonly upper: Value } | undefined

/** How much the bounds of files overlap. */
export interface Overlap {
  /** For each file, with how many of the other files its bounds overlap. */
  readonly overlaps: Float64Array
  /** The mean of each column alone. */
  readonly byColumn: readonly number[]
}

/**
 * Measures the overlap of files that could be rewritten together; `ranges` has a list for each column of the layout. For a curve, the
 * overlap of a file is the mean over the columns. For a sort order, it is about the number of files that overlap in all
 * columns, because later columns are sorted only among equal values of earlier ones. A file without bounds of a column, or with one
 * value, cannot be improved there. Pure; sorts the bounds of each column, so that 100,000 files take less than a second per column.
 */
export function measureOverlap({ kind, columns }: Layout, ranges: readonly (readonly FileRange[])[]): Overlap {
  const files = ranges[0]?.length ?? 0
  const counts = columns.map(({ type }, at) => countOverlaps(type, ranges[at] ?? [], kind === 'sort'))
  const isConstant = (file: number, at: number): boolean => hasOneValue(columns[at]?.type, ranges[at]?.[file])
  const overlaps = new Float64Array(files)
  for (let file = 0; file < files; file += 1) {
    overlaps[file] =
      kind === 'sort'
        ? overlapOfAll(
            counts,
            file,
            counts.every((_, at) => isConstant(file, at)),
          )
        : counts.reduce((sum, of, at) => sum + (isConstant(file, at) ? 0 : (of[file] ?? 0)), 0) / counts.length
  }
  return { overlaps, byColumn: counts.map(mean) }
}

/** About how many other files overlap in all columns; a column without bounds excludes none. */
function overlapOfAll(counts: readonly Float64Array[], file: number, isConstant: boolean): number {
  const others = (counts[0]?.length ?? 0) - 1
  if (isConstant || others < 1) return 0
  return counts.reduce((product, of) => product * Math.min(1, (of[file] ?? 0) / others), others)
}

/**
 * With how many others a file overlaps once `rewritten` of `files` files are laid out anew: along a curve over d columns, each gets
 * the d-th root of its share of every column.
 */
export function overlapAfter({ kind, columns }: Layout, files: number, rewritten = files): number {
  const root = kind === 'sort' ? 1 : 1 / columns.length
  const width = (count: number): number => (1 / Math.max(1, count)) ** root
  return Math.max(0, Math.min(files - 1, files * (width(rewritten) + width(files))))
}

/** The least gain that is worth a rewrite: how many times fewer overlaps. */
const MIN_GAIN = 1.5
/** Overlaps that cost nothing. */
const MIN_OVERLAPS = 3

/** Files of one partition that may be chosen; `outputFiles` says in how many files some of them end. */
export interface OverlapChoice {
  readonly layout: Layout
  readonly overlaps: Float64Array
  readonly outputFiles: (files: readonly number[]) => number
}

/**
 * The files whose rewrite reduces overlaps: those whose overlaps are more than the geometric mean of all files and of what the layout
 * reaches. None when the chosen ones alone, laid out again, would overlap nearly as much; so a second run chooses none of the
 * files of the first, and new files are chosen when there are enough of them. Pure.
 */
export function chooseOverlapping({ layout, overlaps, outputFiles }: OverlapChoice): readonly number[] {
  const files = overlaps.length
  const limit = Math.max(MIN_OVERLAPS, Math.sqrt(overlapAfter(layout, files) * (files - 1)))
  const chosen: number[] = []
  let sum = 0
  for (const [file, count] of overlaps.entries()) {
    if (count < limit) continue
    chosen.push(file)
    sum += count
  }
  if (chosen.length < 2) return []
  const after = overlapAfter(layout, files, outputFiles(chosen))
  return sum / chosen.length >= MIN_GAIN * after ? chosen : []
}

/**
 * For each range, how many others it overlaps. A shared bound is an overlap, but not in a sort order (`isSorted`): sorted files share the
 * value at which one ends and the next begins.
 */
function countOverlaps(type: PrimitiveType, ranges: readonly FileRange[], isSorted: boolean): Float64Array {
  const known = ranges.flatMap((range, file) => (range === undefined ? [] : [{ ...range, file }]))
  const compare = comparatorOf(type, known)
  const byLower = known.toSorted((a, b) => compare(a.lower, b.lower))
  const byUpper = known.toSorted((a, b) => compare(a.upper, b.upper))
  const counts = new Float64Array(ranges.length)
  // a range overlaps those that begin before its end, without those that end before its beginning
  const isBefore = (a: Value, b: Value): boolean => (isSorted ? compare(a, b) <= 0 : compare(a, b) < 0)
  let begun = 0
  for (const { upper, file } of byUpper) {
    for (let next = byLower[begun]; next !== undefined && !isBefore(upper, next.lower); next = byLower[begun])
      begun += 1
    counts[file] = begun
  }
  let ended = 0
  for (const { lower, upper, file } of byLower) {
    for (let next = byUpper[ended]; next !== undefined && isBefore(next.upper, lower); next = byUpper[ended]) ended += 1
    // a range with one value ends before it begins, where a shared bound is no overlap
    const itself = isBefore(upper, lower) ? -1 : 1
    counts[file] = (counts[file] ?? 0) - ended - itself
  }
  return counts
}

type Comparator = (a: Value, b: Value) => number

/** Order of bounds as predicates compare them: both zeros are equal. The operators of the language are several times faster. */
function comparatorOf(type: PrimitiveType, known: readonly NonNullable<FileRange>[]): Comparator {
  const isPlain = known.every(({ lower, upper }) => isPlainValue(lower) && isPlainValue(upper))
  return isPlain ? (a, b) => (a < b ? -1 : a > b ? 1 : 0) : (a, b) => compareValues(type, a, b)
}

/** Whether operators order a value as its type does: not bytes, nor texts whose UTF-16 units are in another order than UTF-8. */
function isPlainValue(value: Value): boolean {
  return typeof value === 'string' ? !/[\ud800-\uffff]/.test(value) : typeof value !== 'object'
}

function hasOneValue(type: PrimitiveType | undefined, range: FileRange): boolean {
  if (type === undefined || range === undefined) return true
  return compareValues(type, range.lower, range.upper) === 0 || isOnePrefix(range)
}

/** Truncated bounds of texts that all begin alike: the lower one, and the next text of its length. No layout changes them. */
function isOnePrefix({ lower, upper }: NonNullable<FileRange>): boolean {
  if (typeof lower !== 'string' || typeof upper !== 'string' || lower.length < TRUNCATED_LENGTH) return false
  return truncateUpper({ kind: 'string' }, `${lower}0`, Array.from(lower).length) === upper
}

/** The shortest truncated bound that writers make by default (`write.metadata.metrics.default`). */
const TRUNCATED_LENGTH = 16

function mean(values: Float64Array): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
