import type { Snapshot } from '../../iceberg/metadata/snapshots.ts'
import { ancestorsOf } from '../../iceberg/metadata/snapshot-ancestry.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { type FileScanTask, planFiles } from '../../iceberg/scan/scan.ts'
import { operationOf } from './history.ts'
import { addedFiles } from './plan.ts'

/** How much of a table to read. */
export interface NewestBounds {
  /** Snapshots. */
  readonly batches: number
  readonly files: number
  readonly rows: number
  /** Of data files and their deletes. */
  readonly bytes: number
}

/** The newest rows of a table, as a pipeline would read them. */
export interface NewestFiles {
  /** The snapshots whose files are read, oldest first. */
  readonly snapshotIds: readonly bigint[]
  readonly tasks: readonly FileScanTask[]
  /** When a single file exceeds the bounds: how many of its rows to read. */
  readonly maxRows?: number
  /** Whether the bounds left out files or rows of these snapshots. */
  readonly isCut: boolean
}

/** Snapshots whose manifests are read; some writers commit without files when there is nothing to write. */
const MAX_LOOKS = 500

/**
 * The files that the newest snapshots of kind `append` added, newest first, within the bounds. When the history has no such
 * snapshot (it expired, or other kinds of snapshots wrote the rows), the current files count as one batch.
 */
export async function newestBatches(table: Table, bounds: NewestBounds): Promise<NewestFiles> {
  const taken = new NewestTasks(bounds)
  const { metadata } = table
  if (metadata.currentSnapshotId === undefined) return taken.files()
  let current: Snapshot | undefined
  let looks = 0
  for (const snapshot of ancestorsOf(metadata, metadata.currentSnapshotId)) {
    current ??= snapshot
    if (operationOf(snapshot) !== 'append') continue
    if ((looks += 1) > MAX_LOOKS) break
    const { files } = await addedFiles(table, snapshot)
    if (files.length === 0) continue
    taken.take(
      snapshot,
      files.map(({ task }) => task),
    )
    if (taken.isFull) break
  }
  if (current !== undefined && taken.isEmpty) {
    const files = await planFiles(table)
    taken.take(
      current,
      files.toSorted((a, b) => b.fileSequenceNumber - a.fileSequenceNumber),
    )
  }
  return taken.files()
}

/** Files within bounds; the first one is taken in any case. */
class NewestTasks {
  readonly #bounds: NewestBounds
  readonly #snapshotIds: bigint[] = []
  readonly #tasks: FileScanTask[] = []
  #rows = 0
  #bytes = 0
  #maxRows: number | undefined
  #isCut = false

  constructor(bounds: NewestBounds) {
    this.#bounds = bounds
  }

  get isEmpty(): boolean {
    return this.#tasks.length === 0
  }

  get isFull(): boolean {
    return this.#isCut || this.#snapshotIds.length >= this.#bounds.batches
  }

  take({ snapshotId }: Snapshot, tasks: readonly FileScanTask[]): void {
    for (const task of tasks) {
      const bytes = bytesOf(task)
      if (!this.#fits(task, bytes)) {
        this.#isCut = true
        if (!this.isEmpty) return
        this.#maxRows = this.#rowsOf(task, bytes)
      }
      if (this.#snapshotIds[0] !== snapshotId) this.#snapshotIds.unshift(snapshotId)
      this.#tasks.push(task)
      this.#rows += task.dataFile.recordCount
      this.#bytes += bytes
      if (this.#isCut) return
    }
  }

  files(): NewestFiles {
    const maxRows = this.#maxRows
    return {
      snapshotIds: this.#snapshotIds,
      tasks: this.#tasks,
      ...(maxRows === undefined ? {} : { maxRows }),
      isCut: this.#isCut,
    }
  }

  #fits({ dataFile }: FileScanTask, bytes: number): boolean {
    const { files, rows, bytes: maxBytes } = this.#bounds
    return this.#tasks.length < files && this.#rows + dataFile.recordCount <= rows && this.#bytes + bytes <= maxBytes
  }

  /** The share of a large file's rows that is within the bounds. */
  #rowsOf({ dataFile: { recordCount } }: FileScanTask, bytes: number): number {
    const { rows, bytes: maxBytes } = this.#bounds
    return Math.max(1, Math.min(rows, Math.floor((recordCount * maxBytes) / Math.max(bytes, 1))))
  }
}

function bytesOf({ dataFile, deletes }: FileScanTask): number {
  return deletes.reduce((sum, { file }) => sum + file.fileSizeInBytes, dataFile.fileSizeInBytes)
}
