import type { DataFile } from '../iceberg/manifest.ts'
import type { DeleteFileRef } from '../iceberg/scan.ts'

/** Reserved field id of the `file_path` column of position delete files (Iceberg spec, "Reserved Field IDs"). */
const DELETE_FILE_PATH_ID = 2_147_483_546

/** Whether a delete file can only delete rows of one data file: a deletion vector, or position deletes of one path. */
export function isFileScoped(file: DataFile): boolean {
  if (file.content !== 'position-deletes') return false
  if (file.referencedDataFile !== undefined) return true
  const lower = file.lowerBounds?.get(DELETE_FILE_PATH_ID)
  const upper = file.upperBounds?.get(DELETE_FILE_PATH_ID)
  return lower !== undefined && upper !== undefined && equalBytes(lower, upper)
}

/** Whether a delete file is a v3 deletion vector (a blob in a Puffin file). */
export function isDeletionVector(file: DataFile): boolean {
  return file.content === 'position-deletes' && file.fileFormat === 'puffin'
}

/** Records in the deletes that belong to one data file alone, as `delete_ratio_threshold` counts them. */
export function fileScopedDeleteRecords(deletes: readonly DeleteFileRef[]): number {
  let records = 0
  for (const { file } of deletes) if (isFileScoped(file)) records += file.recordCount
  return records
}

/** What tells two delete files apart: several deletion vectors may share one Puffin file. */
export function deleteFileKey(file: DataFile): string {
  return file.contentOffset === undefined ? file.filePath : `${file.filePath}#${file.contentOffset}`
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
