import { readFile, rm } from 'node:fs/promises'
import type { FileIO, FileStatus } from '../../src/iceberg/io/file-io.ts'
import { MemoryFileIO } from '../../src/iceberg/io/memory.ts'

/** Leaves a lower FileIO unchanged: writes stay in memory, and deleted files are only hidden. */
export class OverlayIO implements FileIO {
  readonly upper = new MemoryFileIO()
  readonly hidden = new Set<string>()
  readonly written = new Set<string>()
  readonly #lower: FileIO

  constructor(lower: FileIO) {
    this.#lower = lower
  }

  async read(location: string): Promise<Uint8Array> {
    return (await this.#of(location)).read(location)
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    return (await this.#of(location)).readRange(location, offset, length)
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    this.written.add(location)
    return this.upper.create(location, bytes)
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    this.written.add(location)
    return this.upper.write(location, bytes)
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    return (await this.#of(location)).stat(location)
  }

  async *list(location: string): AsyncIterable<FileStatus> {
    yield* this.upper.list(location)
    for await (const file of this.#lower.list(location)) if (!this.hidden.has(file.location)) yield file
  }

  async delete(location: string): Promise<void> {
    this.hidden.add(location)
    await this.upper.delete(location)
  }

  localPath(location: string): string | undefined {
    return this.hidden.has(location) || this.written.has(location) ? undefined : this.#lower.localPath(location)
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    await this.create(location, new Uint8Array(await readFile(localPath)))
    await rm(localPath)
  }

  async #of(location: string): Promise<FileIO> {
    return this.hidden.has(location) || this.written.has(location) ? this.upper : this.#lower
  }
}
