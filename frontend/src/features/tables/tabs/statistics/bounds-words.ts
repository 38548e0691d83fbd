import type { FileBounds } from '../../../../api/types.ts'
import { fileBounds as words } from '../../../../strings/statistics.ts'

/** How much the bounds of a column overlap, in words: the text alternative of the picture. */
export function boundsSummary({ column, overlap, ...bounds }: FileBounds): string {
  const path = column?.path ?? ''
  if (bounds.bounded_file_count === 0) return words.noBounds(path)
  if (overlap === null || overlap.file_count === 0) return words.alone
  const { other_count: others, overlap_count: overlaps } = overlap
  return words.overlap({ column: path, overlaps, others, isOnePartition: isOnePartition({ overlap, ...bounds }) })
}

function isOnePartition({ overlap, data_file_count: all }: Pick<FileBounds, 'overlap' | 'data_file_count'>): boolean {
  return overlap?.file_count === all && overlap.other_count + 1 === all
}

/** How the picture is to be read, and what it leaves out. */
export function boundsNotes(bounds: FileBounds): readonly string[] {
  const { bars, left_out_count: leftOut, bounded_file_count: bounded, data_file_count: files, scale } = bounds
  return [
    words.reading,
    ...(isOnePartition(bounds) ? [] : [words.allPartitions]),
    ...(scale === 'rank' ? [words.rank] : []),
    ...(leftOut > 0 ? [words.leftOut(bars.length, bounded)] : []),
    ...(bounded < files ? [words.unbounded(files - bounded)] : []),
  ]
}
