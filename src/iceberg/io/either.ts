import type { DeletionFailure, FileIO, FileStatus } from './file-io.ts'
import { deleteFrom } from './delete-files.ts'
import { fileNames } from './file-names.ts'
import { folderNames } from './folder-names.ts'
import { placeOf } from './place.ts'

/** Combines two stores: `other` serves the locations for which `isOther` is true, `main` all others. */
export class EitherFileIO implements FileIO {
  readonly #main: FileIO
  readonly #other: FileIO
  readonly #isOther: (location: string) => boolean

  constructor(main: FileIO, other: FileIO, isOther: (location: string) => boolean) {
    this.#main = main
    this.#other = other
    this.#isOther = isOther
  }

  async read(location: string): Promise<Uint8Array> {
    return this.#of(location).read(location)
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#of(location).readRange(location, offset, length)
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    return this.#of(location).create(location, bytes)
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    return this.#of(location).write(location, bytes)
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    return this.#of(location).stat(location)
  }

  list(location: string): AsyncIterable<FileStatus> {
    return this.#of(location).list(location)
  }

  async listFolders(location: string): Promise<readonly string[]> {
    return folderNames(this.#of(location), location)
  }

  async listNames(location: string): Promise<readonly string[]> {
    return fileNames(this.#of(location), location)
  }

  async place(location: string): Promise<string> {
    return placeOf(this.#of(location), location)
  }

  async delete(location: string): Promise<void> {
    return this.#of(location).delete(location)
  }

  async deleteAll(locations: readonly string[]): Promise<readonly DeletionFailure[]> {
    const failures: DeletionFailure[] = []
    for (const io of [this.#main, this.#other]) {
      const own = locations.filter((location) => this.#of(location) === io)
      for (const failure of await deleteFrom(io, own)) failures.push(failure)
    }
    return failures
  }

  async move(from: string, to: string): Promise<boolean> {
    const io = this.#of(from)
    return this.#of(to) === io && ((await io.move?.(from, to)) ?? false)
  }

  async deleteFolder(location: string): Promise<void> {
    await this.#of(location).deleteFolder?.(location)
  }

  localPath(location: string): string | undefined {
    return this.#of(location).localPath(location)
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    return this.#of(location).moveIn(localPath, location)
  }

  #of(location: string): FileIO {
    return this.#isOther(location) ? this.#other : this.#main
  }
}
