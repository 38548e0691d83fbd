import { IcebergError } from '../../iceberg/errors.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { type GrowingPlan, requireFewFiles } from './plan-files.ts'
import type { QueriedRows } from './run-query.ts'

/** Rows in any order. */
export interface FirstRowsRequest {
  /** The name of the table, for messages. */
  readonly label: string
  readonly limit: number
  /** Of all runs together. */
  readonly seconds: number
  /** Reads the rows of these files. */
  run(files: readonly FileScanTask[], seconds: number): Promise<QueriedRows>
}

/** Rows, and the files that were opened for them. */
export interface FirstRows {
  readonly files: readonly FileScanTask[]
  readonly found: QueriedRows
}

/**
 * Rows in any order, of as few files as have them. Files whose rows are deleted are found by reading them: then more files are
 * read, at least four times as many rows. `UNPROCESSABLE` for too many files; `LIMIT_EXCEEDED` after the time; errors of `run`.
 */
export async function readFirstRows(
  plan: GrowingPlan,
  { label, limit, seconds, run }: FirstRowsRequest,
): Promise<FirstRows> {
  const began = performance.now()
  let wanted = limit + 1 // one more tells whether there are more
  for (;;) {
    await plan.grow(wanted)
    const { files, rows } = firstFiles(plan.files, wanted)
    requireFewFiles(label, files)
    const left = seconds - (performance.now() - began) / 1000
    if (left <= 0) throw new IcebergError('LIMIT_EXCEEDED', `the query was stopped: it takes longer than ${seconds} s`)
    const found = await run(files, left)
    const isAll = plan.isComplete && files.length === plan.files.length
    if (found.hasMore || isAll) return { files, found }
    if (found.rows.length >= limit) return { files, found: { ...found, truncated: true, hasMore: true } }
    wanted = 4 * Math.max(wanted, rows)
  }
}

/** The first files with at least this many rows, before deletes. */
function firstFiles(
  all: readonly FileScanTask[],
  wanted: number,
): { readonly files: readonly FileScanTask[]; readonly rows: number } {
  let rows = 0
  const end = all.findIndex(({ dataFile }) => {
    rows += dataFile.recordCount
    return rows >= wanted
  })
  return { files: end < 0 ? all : all.slice(0, end + 1), rows }
}
