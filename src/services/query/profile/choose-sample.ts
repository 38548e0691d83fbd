import { SAMPLE_LIMITS } from '../../../domain/tables/sample-limits.ts'
import { count, percent, plural } from '../../../lib/text.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'
import { COLUMNS_PER_QUERY } from './measured-columns.ts'

/** Most values (rows times columns) that one query measures: what fits into its memory. */
const MAX_VALUES = 500_000
/** Rows of the files for each row that is measured, unless one file has more. */
const ROWS_PER_SAMPLED = 20

/** Which files and rows of a table are measured. */
export interface Sample {
  readonly files: readonly FileScanTask[]
  /** The number of files that they were chosen from. */
  readonly planned: number
  /** The share of their rows that is measured, chosen at random: above 0, at most 1. A LIMIT would keep all rows in memory. */
  readonly share: number
}

/** Most rows that are measured in a table with this number of measured columns. */
export function rowsToSample(columns: number): number {
  return Math.min(SAMPLE_LIMITS.rows, Math.floor(MAX_VALUES / Math.max(1, Math.min(columns, COLUMNS_PER_QUERY))))
}

/**
 * Chooses files at equal distances, as many as rows and bytes permit and at least one, and the share of their rows that is
 * measured. Pure.
 */
export function chooseSample(all: readonly FileScanTask[], columns: number): Sample {
  const wanted = rowsToSample(columns)
  const files = chooseFiles(all, wanted * ROWS_PER_SAMPLED)
  const rows = files.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
  return { files, planned: all.length, share: rows > wanted ? wanted / rows : 1 }
}

function chooseFiles(all: readonly FileScanTask[], maxRows: number): readonly FileScanTask[] {
  for (let size = Math.min(all.length, SAMPLE_LIMITS.files); size > 1; size -= 1) {
    const chosen = evenly(all, size)
    const rows = chosen.reduce((sum, { dataFile }) => sum + dataFile.recordCount, 0)
    const bytes = chosen.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
    if (rows <= maxRows && bytes <= SAMPLE_LIMITS.bytes) return chosen
  }
  return evenly(all, Math.min(all.length, 1))
}

/** This many of a list, each in the middle of a part of it. */
function evenly<T>(all: readonly T[], size: number): readonly T[] {
  return Array.from({ length: size }, (_, at) => all[Math.floor(((at + 0.5) * all.length) / size)] as T)
}

/** Whether a sample is the whole table, of this number of data files. */
export function isWhole({ files, share }: Sample, totalFiles: number): boolean {
  return files.length === totalFiles && share === 1
}

/** The choice in words, of a table with this number of data files. */
export function sampleRule(sample: Sample, totalFiles: number): string {
  const { files, planned, share } = sample
  const first = planned < totalFiles ? `the first ${count(planned)} of ` : ''
  const some = `${files.length} of ${first}${plural(totalFiles, 'data file')}, at equal distances`
  const ofFiles = files.length === totalFiles ? plural(totalFiles, 'data file') : some
  return share === 1 ? `all rows of ${ofFiles}` : `${percent(share)} of the rows of ${ofFiles}, chosen at random`
}
