import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO, FileStatus } from '../../../iceberg/io/file-io.ts'
import { LocalFileIO } from '../../../iceberg/io/local.ts'

/** Reads the files of one input under their locations, and nothing else. */
export class StagedIO implements FileIO {
  readonly #paths: ReadonlyMap<string, string>
  readonly #disk = new LocalFileIO()

  constructor(files: readonly (readonly [location: string, path: string])[]) {
    this.#paths = new Map(files)
  }

  read(location: string): Promise<Uint8Array> {
    return this.#disk.read(this.localPath(location))
  }

  readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#disk.readRange(this.localPath(location), offset, length)
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const found = await this.#disk.stat(this.localPath(location))
    return found && { ...found, location }
  }

  localPath(location: string): string {
    const path = this.#paths.get(location)
    if (path === undefined) throw new IcebergError('FILE_NOT_FOUND', `${location} is not an input of this query`)
    return path
  }

  create(): Promise<void> {
    return refused()
  }

  write(): Promise<void> {
    return refused()
  }

  delete(): Promise<void> {
    return refused()
  }

  moveIn(): Promise<void> {
    return refused()
  }

  // oxlint-disable-next-line require-yield -- nothing can be listed
  async *list(): AsyncGenerator<FileStatus> {
    await refused()
  }
}

function refused(): Promise<never> {
  return Promise.reject(new IcebergError('UNSUPPORTED', 'a query can only read its inputs'))
}
