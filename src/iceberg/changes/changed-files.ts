import type { DataFile, ManifestEntry, ManifestFile } from '../manifest/manifest.ts'
import type { DeleteFileRef } from '../scan/delete-index.ts'
import type { FileScanTask } from '../scan/scan.ts'

/** A data file of which rows appear or disappear with a snapshot. */
export interface FileChange {
  readonly dataFile: DataFile
  /** Data sequence number. */
  readonly sequenceNumber: number
  readonly fileSequenceNumber: number
  /** The deletes that apply before the snapshot; undefined: the file was not part of the table. */
  readonly before: readonly DeleteFileRef[] | undefined
  /** The deletes that apply after it; undefined: the file is no longer part of the table. */
  readonly after: readonly DeleteFileRef[] | undefined
}

/** How a file takes part in a change. */
export interface ChangeMark {
  /** Counts the snapshots of the range that may change rows, from 0. */
  readonly ordinal: number
  readonly snapshotId: bigint
  /** Whether the task reads the rows before the snapshot or those after it. */
  readonly side: 'before' | 'after'
  /** Whether the file is part of the table before and after: the task before and the one after then follow each other. */
  readonly isPaired: boolean
}

/** A data file to read on one side of a snapshot. */
export interface ChangeScanTask extends FileScanTask {
  readonly change: ChangeMark
}

/** The data files that a snapshot changes, in no particular order. */
export interface SnapshotChanges {
  readonly snapshotId: bigint
  readonly ordinal: number
  readonly files: readonly FileChange[]
}

/** What reading the changes of a snapshot opens: one task for an added or removed file, two for a file with other deletes. */
export function changeTasks({ files, ordinal, snapshotId }: SnapshotChanges): readonly ChangeScanTask[] {
  return files.flatMap(({ before, after, ...file }) => {
    const isPaired = before !== undefined && after !== undefined
    const taskOn = (side: ChangeMark['side'], deletes: readonly DeleteFileRef[] | undefined): ChangeScanTask[] =>
      deletes === undefined ? [] : [{ ...file, deletes, change: { ordinal, snapshotId, side, isPaired } }]
    return [...taskOn('before', before), ...taskOn('after', after)]
  })
}

/** What two lists have alone and together; the elements of `both` are those of the second list. */
export interface Difference<T> {
  readonly removed: readonly T[]
  readonly added: readonly T[]
  readonly both: readonly T[]
}

/** Compares lists in which an element may occur several times. */
export function differenceOf<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (element: T) => string,
): Difference<T> {
  const left = new Map<string, T[]>()
  for (const element of before) {
    const key = keyOf(element)
    const same = left.get(key)
    if (same === undefined) left.set(key, [element])
    else same.push(element)
  }
  const added: T[] = []
  const both: T[] = []
  for (const element of after) {
    const isKept = left.get(keyOf(element))?.pop() !== undefined
    if (isKept) both.push(element)
    else added.push(element)
  }
  return { removed: [...left.values()].flat(), added, both }
}

/** Identifies a manifest of a table. */
export function manifestKey({ manifestPath }: ManifestFile): string {
  return manifestPath
}

/** Identifies a live entry: a file that is added again has a new sequence number, and other deletes apply to it. */
export function entryKey({ dataFile, sequenceNumber }: ManifestEntry): string {
  return `${sequenceNumber}/${dataFile.contentOffset ?? ''}/${dataFile.filePath}`
}
