import { isDeletionVector } from '../../iceberg/puffin/deletion-vector.ts'
import { fileKey } from '../../iceberg/scan/file-scope.ts'
import type { DeleteFileRef } from '../../iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'

/** How one snapshot differs from its parent; rows are counted from manifests. */
export interface ScanDifference {
  /** With the deletes that the rewrite applied. */
  readonly removed: readonly FileScanTask[]
  readonly added: readonly FileScanTask[]
  /** Rows in the removed files, deleted ones included. */
  readonly rowsRead: number
  readonly rowsWritten: number
  /** What cannot be: rows were lost, invented or brought back. Undefined: the counts of manifests agree. */
  readonly violation: string | undefined
  /** Removed files whose deleted rows manifests do not tell exactly: position delete files and equality deletes. */
  readonly uncounted: readonly FileScanTask[]
}

/**
 * Compares the scan of a `replace` snapshot with that of its parent: the rows of the removed files, without those that
 * their deletes remove, must be in the added files, and every other file must keep its deletes. Pure.
 */
export function compareScans(before: readonly FileScanTask[], after: readonly FileScanTask[]): ScanDifference {
  const old = byPath(before)
  const now = byPath(after)
  const added = after.filter(({ dataFile }) => !old.has(dataFile.filePath))
  const startedAt = added.reduce((lowest, task) => Math.min(lowest, task.sequenceNumber), Number.POSITIVE_INFINITY)
  const removed = before
    .filter(({ dataFile }) => !now.has(dataFile.filePath))
    .map((task) => ({ ...task, deletes: task.deletes.filter((ref) => wasApplied(ref, startedAt)) }))
  const counts = { removed, added, rowsRead: rowsOf(removed), rowsWritten: rowsOf(added) }
  const uncounted = removed.filter(({ deletes }) => deletes.some(({ file }) => !isDeletionVector(file)))
  const violation =
    repeatedFile(after, now) ??
    changedDeletes(old, after) ??
    wrongDeletes(added, startedAt) ??
    wrongRows(counts, uncounted.length > 0)
  return { ...counts, uncounted, violation }
}

/** Equality deletes that came after the rewrite had begun still apply to its new files. */
function wasApplied({ file, sequenceNumber }: DeleteFileRef, startedAt: number): boolean {
  return file.content !== 'equality-deletes' || sequenceNumber <= startedAt
}

function repeatedFile(after: readonly FileScanTask[], now: ReadonlyMap<string, FileScanTask>): string | undefined {
  return after.length === now.size ? undefined : 'a data file is listed twice'
}

function changedDeletes(old: ReadonlyMap<string, FileScanTask>, after: readonly FileScanTask[]): string | undefined {
  const changed = after.filter((task) => {
    const earlier = old.get(task.dataFile.filePath)
    return earlier !== undefined && deletesKey(earlier) !== deletesKey(task)
  })
  return changed.length === 0 ? undefined : `${changed.length} data files that it kept have other deletes than before`
}

function deletesKey({ deletes }: FileScanTask): string {
  if (deletes.length === 0) return ''
  return deletes
    .map(({ file }) => fileKey(file))
    .sort()
    .join('\n')
}

function wrongDeletes(added: readonly FileScanTask[], startedAt: number): string | undefined {
  const hit = added.some(({ deletes }) => deletes.some((ref) => wasApplied(ref, startedAt)))
  return hit ? 'deletes that the rewrite had applied apply to its new files again' : undefined
}

type Counts = Pick<ScanDifference, 'removed' | 'rowsRead' | 'rowsWritten'>

function wrongRows({ removed, rowsRead, rowsWritten }: Counts, isVague: boolean): string | undefined {
  const named = new Map(removed.flatMap(({ deletes }) => deletes.map(({ file }) => [fileKey(file), file] as const)))
  const hasEquality = [...named.values()].some(({ content }) => content === 'equality-deletes')
  const most = hasEquality ? rowsRead : [...named.values()].reduce((total, { recordCount }) => total + recordCount, 0)
  const missing = rowsRead - rowsWritten
  if (missing < 0) return `its new files have ${-missing} rows more than the files that they replace`
  if (missing > most) return `${missing} rows are missing, but the delete files name only ${most}`
  if (!isVague && missing !== most) return `${missing} rows are missing, but the delete files name ${most}`
  return undefined
}

function byPath(tasks: readonly FileScanTask[]): ReadonlyMap<string, FileScanTask> {
  return new Map(tasks.map((task) => [task.dataFile.filePath, task]))
}

function rowsOf(tasks: readonly FileScanTask[]): number {
  return tasks.reduce((total, { dataFile }) => total + dataFile.recordCount, 0)
}
