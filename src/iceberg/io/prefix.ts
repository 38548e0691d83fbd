import type { DeletionFailure, FileIO, FileStatus } from './file-io.ts'
import { deleteFrom } from './delete-files.ts'
import { fileNames } from './file-names.ts'
import { folderNames } from './folder-names.ts'
import { placeOf } from './place.ts'

/** Maps locations that start with `from` to `to`. */
export interface PrefixMapping {
  readonly from: string
  readonly to: string
}

/**
 * Maps locations of another FileIO: for tables that were moved and whose metadata still has the old locations.
 *
 * A mapping applies to its `from` itself and to what lies below it; the longest one wins; locations without a mapping
 * go to the inner FileIO unchanged. Results use the names of the request.
 */
export class PrefixFileIO implements FileIO {
  readonly #inner: FileIO
  readonly #mappings: readonly PrefixMapping[]

  constructor(inner: FileIO, mappings: readonly PrefixMapping[]) {
    this.#inner = inner
    this.#mappings = mappings.map(withoutSlashes).toSorted((a, b) => b.from.length - a.from.length)
  }

  async read(location: string): Promise<Uint8Array> {
    return this.#inner.read(this.#map(location))
  }

  async readRange(location: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#inner.readRange(this.#map(location), offset, length)
  }

  async create(location: string, bytes: Uint8Array): Promise<void> {
    return this.#inner.create(this.#map(location), bytes)
  }

  async write(location: string, bytes: Uint8Array): Promise<void> {
    return this.#inner.write(this.#map(location), bytes)
  }

  async stat(location: string): Promise<FileStatus | undefined> {
    const status = await this.#inner.stat(this.#map(location))
    return status === undefined ? undefined : { ...status, location }
  }

  async *list(location: string): AsyncGenerator<FileStatus> {
    const asked = location.replace(/\/+$/, '')
    const inner = this.#map(asked).replace(/\/+$/, '')
    for await (const status of this.#inner.list(inner)) {
      const below = status.location.startsWith(`${inner}/`) ? status.location.slice(inner.length) : undefined
      yield below === undefined ? status : { ...status, location: asked + below }
    }
  }

  async listFolders(location: string): Promise<readonly string[]> {
    return folderNames(this.#inner, this.#map(location))
  }

  async listNames(location: string): Promise<readonly string[]> {
    return fileNames(this.#inner, this.#map(location))
  }

  async place(location: string): Promise<string> {
    return placeOf(this.#inner, this.#map(location))
  }

  async delete(location: string): Promise<void> {
    return this.#inner.delete(this.#map(location))
  }

  async deleteAll(locations: readonly string[]): Promise<readonly DeletionFailure[]> {
    const asked = new Map(locations.map((location) => [this.#map(location), location]))
    const failures = await deleteFrom(this.#inner, [...asked.keys()])
    return failures.map(({ location, reason }) => ({ location: asked.get(location) ?? location, reason }))
  }

  async deleteFolder(location: string): Promise<void> {
    await this.#inner.deleteFolder?.(this.#map(location))
  }

  async move(from: string, to: string): Promise<boolean> {
    return (await this.#inner.move?.(this.#map(from), this.#map(to))) ?? false
  }

  localPath(location: string): string | undefined {
    return this.#inner.localPath(this.#map(location))
  }

  async moveIn(localPath: string, location: string): Promise<void> {
    return this.#inner.moveIn(localPath, this.#map(location))
  }

  #map(location: string): string {
    const mapping = this.#mappings.find(({ from }) => covers(from, location))
    return mapping === undefined ? location : mapping.to + location.slice(mapping.from.length)
  }
}

/** `/a/ → /b/` means the same as `/a → /b`, and then also covers the folder itself. */
function withoutSlashes({ from, to }: PrefixMapping): PrefixMapping {
  const both = /[^/]\/$/.test(from) && to.endsWith('/')
  return both ? { from: from.slice(0, -1), to: to.slice(0, -1) } : { from, to }
}

/** `/a` covers `/a` and `/a/b` but not `/ab`; `s3://` and `/a/` cover all that starts with them. */
function covers(from: string, location: string): boolean {
  if (!location.startsWith(from)) return false
  return from.endsWith('/') || location.length === from.length || location[from.length] === '/'
}
