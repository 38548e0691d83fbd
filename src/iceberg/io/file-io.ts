/** What is known about a stored file: size in bytes, modification time in ms since the epoch. */
export interface FileStatus {
  readonly location: string
  readonly sizeBytes: number
  readonly modifiedAtMs: number
}

/**
 * Reads and writes the files of tables, by the locations that table metadata uses
 * (absolute paths or URIs such as `file:///warehouse/t/data/a.parquet`).
 *
 * Errors are `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`, `NO_SPACE`, `IO_FAILED`,
 * and `INVALID_ARGUMENT` for a location that this FileIO does not serve.
 */
export interface FileIO {
  /** The whole file. */
  read(location: string): Promise<Uint8Array>
  /** `length` bytes from `offset`; `CORRUPT_FILE` when the file ends before. */
  readRange(location: string, offset: number, length: number): Promise<Uint8Array>
  /** Creates the file atomically and durably; `FILE_EXISTS` when there is one, which then is unchanged. */
  create(location: string, bytes: Uint8Array): Promise<void>
  /** Creates or replaces the file atomically and durably. */
  write(location: string, bytes: Uint8Array): Promise<void>
  /** Status of a file, or undefined when there is none. */
  stat(location: string): Promise<FileStatus | undefined>
  /** All files below a location, recursively, in no order; nothing when there is no such folder. */
  list(location: string): AsyncIterable<FileStatus>
  /** Names of the folders right below a location, in no order; absent where only `list` can tell. */
  listFolders?(location: string): Promise<readonly string[]>
  /**
   * The place that a location names, as text that is the same for every spelling of it and for every way through links.
   * For comparison only; absent where the text of a location tells its place. Use `placeOf`.
   */
  place?(location: string): Promise<string>
  /** Deletes a file; a missing one is fine. */
  delete(location: string): Promise<void>
  /** A path on this machine where an engine can open the file as it is, or undefined when it must be copied out. */
  localPath(location: string): string | undefined
  /** Moves a finished local file (on any file system of this machine) to its place, durably; `FILE_EXISTS` when taken. */
  moveIn(localPath: string, location: string): Promise<void>
}
