import type { DuckDbRun } from './session.ts'

/** How a run reads and writes rows, given their width. */
export interface Width {
  /** Whether one thread reads, writes and compares the rows, because the memory is too small for several. */
  readonly isForOneThread: boolean
  /** Whether even one thread has too little memory for encodings that collect the values of a whole column. */
  readonly isForPlainEncoding: boolean
}

/** The engine's largest limit. Rows that come through a limit are read and written by one thread, in order. */
export const NO_LIMIT = 2n ** 62n

/** Copies of the rows in a vector that each thread holds: file bytes, pages, the row group, its pages and their compressed form. */
const COPIES = 4
/** One more for the encodings of Parquet's second version, which collect all texts of a row group. */
const COPIES_ENCODED = 5

/**
 * How to read and write rows of which `vectorBytes` are read together. Measured with DuckDB 1.5.6 and 120 texts of 2 MB in
 * one row group (240 MB): writing needs 3.7 times their bytes, and 4.7 times with the second version of pages.
 */
export function planWidth({ memoryLimitBytes, threads }: DuckDbRun, vectorBytes: number): Width {
  return {
    isForOneThread: threads > 1 && vectorBytes * COPIES * threads > memoryLimitBytes,
    isForPlainEncoding: vectorBytes * COPIES_ENCODED > memoryLimitBytes,
  }
}

/** The most bytes that rows of one of the files have that are read together; a table may have more files than a call has arguments. */
export function maxVectorBytes(files: readonly { readonly vectorBytes: number }[]): number {
  return files.reduce((most, { vectorBytes }) => Math.max(most, vectorBytes), 0)
}
