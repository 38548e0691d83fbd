/** What is known about a stored file: size in bytes, modification time in ms since the epoch. */
export interface FileStatus {
  readonly location: string
  readonly sizeBytes: number
  readonly modifiedAtMs: number
  /** Another text for a file that took the place of this one, even with the same size and time; only in comparisons. */
  readonly revision?: string
}

/** A file that could not be deleted, and why. */
export interface DeletionFailure {
  readonly location: string
  readonly reason: string
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
  /** Creates the file atomically and durably; `FILE_EXISTS` when it exists already, without changing it. */
  create(location: string, bytes: Uint8Array): Promise<void>
  /** Creates or replaces the file atomically and durably. */
  write(location: string, bytes: Uint8Array): Promise<void>
  /** Status of a file, or undefined when there is none. */
  stat(location: string): Promise<FileStatus | undefined>
  /** All files below a location, recursively, in no particular order; none when the folder does not exist. */
  list(location: string): AsyncIterable<FileStatus>
  /** Names of the folders directly below a location, in no particular order; absent where only `list` can find them. */
  listFolders?(location: string): Promise<readonly string[]>
  /** Names of the files directly below a location, in no particular order; absent where only `list` can find them. */
  listNames?(location: string): Promise<readonly string[]>
  /**
   * The place of a location: a text that is the same for all its spellings and for all paths through links.
   * For comparison only; absent where the location's text determines its place. Use `placeOf`.
   */
  place?(location: string): Promise<string>
  /** Deletes a file; does nothing when it does not exist. */
  delete(location: string): Promise<void>
  /** Deletes files in few requests, as `delete`; absent where that is one request per file. Returns those that stay. */
  deleteAll?(locations: readonly string[]): Promise<readonly DeletionFailure[]>
  /**
   * Moves a file to a free location without copying it, and creates the folder. False, with nothing changed, where the
   * store cannot do that; absent where it never can. `FILE_EXISTS` when the target exists, `FILE_NOT_FOUND`.
   */
  move?(from: string, to: string): Promise<boolean>
  /** Deletes a folder if it is empty; absent where there are no folders. */
  deleteFolder?(location: string): Promise<void>
  /** A path on this machine where an engine can open the file directly, or undefined when it has to be copied. */
  localPath(location: string): string | undefined
  /** Moves a finished local file (of any file system of this machine) to a location, durably; may throw `FILE_EXISTS`. */
  moveIn(localPath: string, location: string): Promise<void>
}
