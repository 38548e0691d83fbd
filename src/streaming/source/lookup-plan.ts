import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { type FileScanTask, planFiles } from '../../iceberg/scan/scan.ts'
import { formatBytes } from '../../lib/text.ts'

/** Data files of a lookup table; each batch reads all of them. */
const MAX_FILES = 5000
const MAX_BYTES = 4 * 2 ** 30

/** Plans of tables as they were loaded; a table that changed is another object. */
const planned = new WeakMap<Table, readonly FileScanTask[]>()

/** All files of the current snapshot of a lookup table, with their deletes. `LIMIT_EXCEEDED` for a table that is too large. */
export async function planLookup(table: Table, signal: AbortSignal): Promise<readonly FileScanTask[]> {
  const known = planned.get(table)
  if (known !== undefined) return known
  const tasks = await planAll(table, signal)
  const bytes = tasks.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
  if (bytes > MAX_BYTES)
    throw tooLarge(table, `has ${formatBytes(bytes)}, and at most ${formatBytes(MAX_BYTES)} are read`)
  planned.set(table, tasks)
  return tasks
}

async function planAll(table: Table, signal: AbortSignal): Promise<readonly FileScanTask[]> {
  try {
    return await planFiles(table, { maxFiles: MAX_FILES, signal })
  } catch (error) {
    if (!isIcebergError(error, 'LIMIT_EXCEEDED')) throw error
    throw tooLarge(table, `has more than ${MAX_FILES} data files, or too many delete files`, error)
  }
}

function tooLarge({ identifier }: Table, why: string, cause?: Error): IcebergError {
  const message = `${formatIdentifier(identifier)} cannot be looked up for each batch, because it ${why}: compact it, or use a smaller table`
  return new IcebergError('LIMIT_EXCEEDED', message, cause ? { cause } : {})
}
