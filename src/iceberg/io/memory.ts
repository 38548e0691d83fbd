import { IcebergError } from '../errors.ts'
import type { FileIO, FileStatus } from './file-io.ts'
import { LocalFileIO } from './local.ts'
import { assertRange } from './read-range.ts'

export interface MemoryFileIOOptions {
  /** Clock for modification times, in ms since the epoch. */
  readonly now?: () => number
}

interface StoredFile {
  readonly bytes: Uint8Array
  readonly modifiedAtMs: number
  readonly revision: string
}

/** Files in the memory of this process, under any location (treated as plain text); for tests and experiments. */
export class MemoryFileIO implements FileIO {
  readonly #files = new Map<string, StoredFile>()
  readonly #now: () => number
  #writes = 0

  constructor(options: MemoryFileIOOptions = {}) {
    this.#now = options.now ?? Date.now
  }

  async read(location: string): Promise<Uint8Array> {
    return this.#get(location).bytes.slice()
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    assertRange({ location, offset, length })
    const { bytes } = this.#get(location)
    assertRange({ location, offset, length }, bytes.length)
    return bytes.slice(offset, offset + length)
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    this.#assertFree(location)
    this.#set(location, bytes)
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    this.#set(location, bytes)
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const file = this.#files.get(location)
    return file === undefined ? undefined : statusOf(location, file)
  }

  async *list(location: string): AsyncGenerator<FileStatus> {
    const prefix = `${location.replace(/\/+$/, '')}/`
    const found = [...this.#files].filter(([path]) => path.startsWith(prefix))
    for (const [path, file] of found) yield statusOf(path, file)
  }

  async delete(location: string): Promise<void> {
    this.#files.delete(location)
  }

  localPath(): undefined {
    return undefined
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    const local = new LocalFileIO()
    const bytes = await local.read(localPath)
    this.#assertFree(location)
    this.#set(location, bytes)
    await local.delete(localPath)
  }

  #get(location: string): StoredFile {
    const file = this.#files.get(location)
    if (file === undefined) throw new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`)
    return file
  }

  #set(location: string, bytes: Uint8Array): void {
    this.#writes += 1
    this.#files.set(location, { bytes: bytes.slice(), modifiedAtMs: this.#now(), revision: String(this.#writes) })
  }

  #assertFree(location: string): void {
    if (this.#files.has(location)) {
      throw new IcebergError('FILE_EXISTS', `The file ${location} already exists.`)
    }
  }
}

function statusOf(location: string, file: StoredFile): FileStatus {
  return { location, sizeBytes: file.bytes.length, modifiedAtMs: file.modifiedAtMs, revision: file.revision }
}
