import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { quoteText } from '../session/sql-text.ts'
import type { DuckDbRun } from '../session/session.ts'

/** More rows than DuckDB's default row group has, so that two threads have something to do. */
const ROW_GROUP_ROWS = 122_880

/** Whether a file probably has more than one row group. */
export function isWorthSplitting({ rowCount }: { readonly rowCount: number }): boolean {
  return rowCount > ROW_GROUP_ROWS
}

/**
 * Path of a Parquet file without rows in the run's folder, written on first use. DuckDB reads a single file by field id
 * with one thread only (measured by hand with 1.5.6: 50 row groups take twice as long on two processors); given two files, it
 * divides their row groups among all threads.
 */
export async function emptyFile(run: DuckDbRun): Promise<string> {
  const path = join(run.folder, 'no-rows.parquet')
  if (!existsSync(path)) {
    await run.execute(
      `COPY (SELECT NULL::INTEGER AS nothing WHERE false) TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {nothing: 2147483000})`,
    )
  }
  return path
}
