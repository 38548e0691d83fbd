import type { ChangeScanTask } from '../../iceberg/changes/changed-files.ts'
import type { FileScanTask } from '../../iceberg/scan/scan.ts'
import { keepsRows, type Snapshot } from '../../iceberg/metadata/snapshots.ts'
import type { RowSchemas } from './dropped-columns.ts'
import { type ReadPosition, toCount, type UnreadHistory } from './history.ts'

/** How much one batch may read; the first file is always read. */
export interface BatchLimits {
  readonly maxFiles: number
  readonly maxBytes: number
}

/** What a batch reads of one source. */
export interface SourceBatch {
  readonly tasks: readonly FileScanTask[]
  readonly end: ReadPosition
  /** Whether the limits left files unread. */
  readonly hasMore: boolean
  /** The schemas that the rows were written with. */
  readonly schemas: RowSchemas
  /** Snapshots of kind `overwrite` and `delete` that were skipped because of `on_delete: skip`. */
  readonly skippedSnapshots: number
}

/** A file of a snapshot with its index in the order of the snapshot's manifests. */
export interface IndexedFile {
  readonly index: number
  readonly task: FileScanTask
}

/** The files of one snapshot that a source reads. */
export interface SnapshotFiles {
  readonly files: readonly IndexedFile[]
  /** The position at which all of them are read. */
  readonly end: number
}

/** Which files of a snapshot to take. */
export interface FileRange {
  /** The position before which to stop. */
  readonly until: number
  /** The schema of the snapshot; undefined when the table does not tell it. */
  readonly schemaId: number | undefined
}

/** How a batch is planned. */
export interface DraftOptions extends BatchLimits {
  /** Whether its tasks are those of changed rows; default false. */
  readonly hasChanges?: boolean
}

/** A batch under construction. */
export class BatchDraft {
  readonly #start: ReadPosition
  readonly #limits: DraftOptions
  readonly #tasks: FileScanTask[] = []
  #end: ReadPosition
  #bytes = 0
  #snapshots = 0
  #skipped = 0
  readonly #appended = new Set<number>()
  readonly #others = new Set<number>()
  #hasUnknown = false
  #lastSchemaId: number | undefined
  isFull = false

  constructor(start: ReadPosition, limits: DraftOptions) {
    this.#start = start
    this.#limits = limits
    this.#end = start
  }

  get scansAllFiles(): boolean {
    return this.#end.offset.scanAllFiles
  }

  get hasMoved(): boolean {
    return this.#end !== this.#start
  }

  get isEmpty(): boolean {
    return this.#tasks.length === 0
  }

  /** The schema of the rows that were taken last; undefined when there are none, or it is unknown. */
  get lastSchemaId(): number | undefined {
    return this.#lastSchemaId
  }

  get isComplete(): boolean {
    return this.#end.isComplete
  }

  /** The number of the next snapshot among those of the batch. */
  get nextOrdinal(): number {
    return this.#snapshots + 1
  }

  /** Goes to the beginning of a snapshot. */
  enter(snapshot: Snapshot): void {
    this.#snapshots += 1
    this.#end = { offset: { snapshotId: snapshot.snapshotId, position: 0, scanAllFiles: false }, isComplete: false }
  }

  /** Goes to the end of a snapshot with all of these files, of expired snapshots. */
  jump(
    { snapshot, position }: { readonly snapshot: Snapshot; readonly position: number },
    tasks: readonly FileScanTask[],
  ): void {
    this.#tasks.push(...tasks)
    this.#hasUnknown = true
    this.#end = { offset: { snapshotId: snapshot.snapshotId, position, scanAllFiles: false }, isComplete: true }
  }

  /** Goes to the end of a snapshot of which nothing is read. */
  pass(snapshot: Snapshot): void {
    if (!keepsRows(snapshot)) this.#skipped += 1
    const position = toCount(snapshot.summary['added-data-files'])
    this.#end = { offset: { snapshotId: snapshot.snapshotId, position, scanAllFiles: false }, isComplete: true }
  }

  /** Takes all changes of a snapshot, unless the limits leave no room for them: then it ends before the snapshot. */
  takeChanges(snapshot: Snapshot, tasks: readonly ChangeScanTask[], schemaId: number | undefined): void {
    const bytes = tasks.reduce((sum, { dataFile }) => sum + dataFile.fileSizeInBytes, 0)
    const { maxFiles, maxBytes } = this.#limits
    const isOver = this.#tasks.length + tasks.length > maxFiles || this.#bytes + bytes > maxBytes
    if (this.#tasks.length > 0 && isOver) {
      this.isFull = true
      return
    }
    for (const task of tasks) this.#tasks.push(task)
    this.#bytes += bytes
    this.#snapshots += 1
    if (tasks.length > 0) this.#addSchema(this.#appended, schemaId)
    const position = toCount(snapshot.summary['added-data-files'])
    this.#end = { offset: { snapshotId: snapshot.snapshotId, position, scanAllFiles: false }, isComplete: true }
  }

  #addSchema(schemas: Set<number>, schemaId: number | undefined): void {
    if (schemaId === undefined) this.#hasUnknown = true
    else schemas.add(schemaId)
    this.#lastSchemaId = schemaId
  }

  /** A file of which every row appears. */
  #added(task: FileScanTask): FileScanTask | ChangeScanTask {
    if (this.#limits.hasChanges !== true) return task
    const { snapshotId } = this.#end.offset
    return { ...task, change: { ordinal: this.#snapshots, snapshotId, side: 'after', isPaired: false } }
  }

  /** Takes files of the snapshot that the end is in, as far as the limits allow. */
  take({ files, end }: SnapshotFiles, { until, schemaId }: FileRange): void {
    const before = this.#tasks.length
    let { position } = this.#end.offset
    for (const { index, task } of files) {
      if (index < this.#end.offset.position || index >= until) continue
      const size = task.dataFile.fileSizeInBytes
      const isOver = this.#tasks.length + 1 > this.#limits.maxFiles || this.#bytes + size > this.#limits.maxBytes
      if (this.#tasks.length > 0 && isOver) {
        this.isFull = true
        break
      }
      this.#tasks.push(this.#added(task))
      this.#bytes += size
      position = index + 1
    }
    const schemas = this.scansAllFiles ? this.#others : this.#appended
    if (this.#tasks.length > before) this.#addSchema(schemas, schemaId)
    const isComplete = !this.isFull && Math.max(position, until) >= end
    this.#end = { offset: { ...this.#end.offset, position: isComplete ? end : position }, isComplete }
  }

  batch({ after }: UnreadHistory): SourceBatch {
    const at = this.#end.offset.snapshotId
    const last = after.at(-1)?.snapshotId ?? this.#start.offset.snapshotId
    return {
      tasks: this.#tasks,
      end: this.#end,
      hasMore: this.isFull || (this.hasMoved && (at !== last || !this.isComplete)),
      schemas: { appended: [...this.#appended], others: [...this.#others], hasUnknown: this.#hasUnknown },
      skippedSnapshots: this.#skipped,
    }
  }
}
