import type { DataFile } from './manifest.ts'

/** A delete file that applies to a data file. */
export interface DeleteFileRef {
  readonly file: DataFile
  readonly sequenceNumber: number
}

/** One live data file and every delete that applies to it (Iceberg spec, "Scan Planning"). */
export interface FileScanTask {
  readonly dataFile: DataFile
  /** Data sequence number. */
  readonly sequenceNumber: number
  readonly fileSequenceNumber: number
  /** When a deletion vector applies, position delete files are left out. */
  readonly deletes: readonly DeleteFileRef[]
}
