import type { FileIO } from '../iceberg/io/file-io.ts'
import type { DataFile } from '../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import type { FileScanTask } from '../iceberg/scan/scan.ts'
import type { Schema } from '../iceberg/schema/schema.ts'

/** A finished rewrite whose rows are to be found again. */
export interface RowIndexTask {
  readonly io: FileIO
  /** The table as the rewrite read it. */
  readonly metadata: TableMetadata
  /** The rewritten files with the deletes that the rewrite applied. */
  readonly inputs: readonly FileScanTask[]
  /** The new files, in their final locations. */
  readonly files: readonly DataFile[]
  /** Schema of the new files. */
  readonly schema: Schema
  readonly formatVersion: 1 | 2 | 3
}

/** Where the rows are that deletes have removed since a rewrite. */
export type RowLocation =
  | {
      readonly kind: 'located'
      /** Positions in each new file, ascending, of all rows located so far; in the order of the task's files. */
      readonly positions: readonly (readonly number[])[]
      /** Rows that the deletes removed since the rewrite and that the rewrite had copied, counted independently. */
      readonly rows: number
    }
  /** The rows cannot be located: the inputs must be rewritten again. */
  | { readonly kind: 'impossible'; readonly reason: string }

/** Where the position delete files of format version 2 are written. */
export interface CarriedDeletesOutput {
  /** Table properties. */
  readonly properties: Readonly<Record<string, string>>
  /** Location for the n-th new file of a call. */
  readonly newLocation: (index: number) => string
}

/**
 * Finds rows of rewritten files in the new files (docs/iceberg-notes.md#deletes-that-arrive-during-a-compaction): by row id where
 * all rows have one, else by value. Memory is bounded. After an error the index can only be closed.
 */
export interface RowIndex {
  /**
   * Locates the rows that position deletes and deletion vectors have removed since the rewrite. `inputs` are those of the task,
   * in the same order, with the deletes that apply now. Later calls read only deletes that are new.
   * `FILE_NOT_FOUND` when a delete file is gone.
   */
  locate(inputs: readonly FileScanTask[]): Promise<RowLocation>
  /** Writes the located positions as position delete files, one or more for each new file; on an error, no file remains. */
  writePositionDeletes(output: CarriedDeletesOutput): Promise<readonly DataFile[]>
  /** Removes everything that the index stored. */
  close(): Promise<void>
}
