import type { RewriteResult } from '../../engines/rewrite-result.ts'
import type { RowLocation } from '../../engines/row-index.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { fileKey } from '../../iceberg/scan/file-scope.ts'
import { isDeletionVector } from '../../iceberg/puffin/deletion-vector.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'

const MAX_NAMES = 20

/** Rows a rewrite read, dropped because they were deleted, and wrote. */
export interface RowCounts {
  readonly rowsRead: number
  readonly rowsDeleted: number
  readonly rowsWritten: number
}

/**
 * Verifies that a rewrite lost and added no row: manifests, engine and new files must agree, and only rows that a delete
 * file names may be missing. Throws `ROWS_NOT_CONSERVED` with the numbers.
 */
export function checkRowConservation(inputs: readonly FileScanTask[], result: RewriteResult): void {
  const { rowsRead, rowsDeleted, rowsWritten } = result
  for (const count of [rowsRead, rowsDeleted, rowsWritten]) {
    if (!Number.isSafeInteger(count) || count < 0) throw violated(`${count} is not a row count`, result)
  }
  if (rowsRead - rowsDeleted !== rowsWritten)
    throw violated('rows read - rows deleted differs from rows written', result)
  const recorded = sum(result.files, (file) => file.recordCount)
  if (recorded !== rowsWritten) throw violated(`the new files contain ${recorded} rows`, result)
  const expected = sum(inputs, (task) => task.dataFile.recordCount)
  if (expected !== rowsRead) throw violated(`the manifests record ${expected} rows in the replaced files`, result)
  checkDeletedRows(inputs, result)
}

/**
 * Verifies that the new files contain the values that were read. Throws `ROWS_NOT_CONSERVED` with the columns that differ, and
 * when the engine did not compare.
 */
export function checkValues({ values, ...counts }: RewriteResult): void {
  if (values === undefined) throw violated('the values of the new files were not compared', counts)
  if (values.isEqual) return
  throw violated(
    values.differing.length === 0
      ? 'values moved from one row to another'
      : `the new files have different values in ${listNames(values.differing)}`,
    counts,
  )
}

/**
 * Verifies the positions to which deletes are carried over: as many as rows were deleted, each in its file and only once.
 * Throws `ROWS_NOT_CONSERVED`.
 */
export function checkCarriedRows(
  files: readonly DataFile[],
  { positions, rows }: Extract<RowLocation, { kind: 'located' }>,
): void {
  let found = 0
  for (const [at, { recordCount }] of files.entries()) {
    const own = positions[at] ?? []
    found += own.length
    const isValid = own.every((position) => Number.isSafeInteger(position) && position >= 0 && position < recordCount)
    if (!isValid || new Set(own).size !== own.length) throw notCarried('a deleted row is not in its file')
  }
  if (positions.length !== files.length || found !== rows) {
    throw notCarried(`of ${rows} rows that were deleted meanwhile, ${found} are in the new files`)
  }
}

function notCarried(what: string): IcebergError {
  return new IcebergError('ROWS_NOT_CONSERVED', `the rewrite was abandoned and nothing was changed: ${what}`)
}

/** Column names for messages; a long list is shortened. */
function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ')
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  return `${names.length === 1 ? 'column' : 'columns'} ${shown}${more}`
}

function checkDeletedRows(inputs: readonly FileScanTask[], result: RewriteResult): void {
  const deletes = new Map(inputs.flatMap((task) => task.deletes.map(({ file }) => [fileKey(file), file] as const)))
  if (deletes.size === 0 && result.rowsDeleted > 0)
    throw violated('no delete file applies to the replaced files', result)
  const files = [...deletes.values()]
  if (files.some((file) => file.content === 'equality-deletes')) return
  const named = sum(files, (file) => file.recordCount)
  if (result.rowsDeleted > named) throw violated(`the delete files name only ${named} rows`, result)
  // a deletion vector names every position once, all of them inside the file
  if (files.every(isDeletionVector) && result.rowsDeleted !== named) {
    throw violated(`the deletion vectors name ${named} rows`, result)
  }
}

function violated(what: string, { rowsRead, rowsDeleted, rowsWritten }: RowCounts): IcebergError {
  return new IcebergError(
    'ROWS_NOT_CONSERVED',
    `the rewrite was abandoned and nothing was changed: ${what} ` +
      `(rows read ${rowsRead}, deleted ${rowsDeleted}, written ${rowsWritten})`,
  )
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  let total = 0
  for (const item of items) total += value(item)
  return total
}
