import { LRUCache } from 'lru-cache'

import type { FileIO, FileStatus } from '../../iceberg/io/file-io.ts'
import { parseTableMetadata, type TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isSameFile } from '../file-state.ts'

/** Smaller documents are parsed in a few ms, and are not shared. */
const LARGE_BYTES = 1024 * 1024
const LARGE_COMPRESSED_BYTES = 128 * 1024
/** Together, in bytes of JSON: a document takes about twice its size in memory. */
const HELD_BYTES = 96 * 1024 * 1024
/** Of JSON; a compressed file has fewer. */
const BYTES_PER_SNAPSHOT = 700
const HELD_MS = 30_000
const MAX_FOLDERS = 10_000
const MAX_DOCUMENTS = 1000

/** A document of a file that was the same before and after it was read. */
interface Shared {
  readonly file: FileStatus
  /** While the document is being read; ends with undefined when that fails. Later, the promise would keep the document. */
  loading: Promise<TableMetadata | undefined> | undefined
  metadata: WeakRef<TableMetadata> | undefined
}

/** Keeps the last documents of all catalogs for requests that follow each other; the others are kept by those that use them. */
const held = new LRUCache<Shared, TableMetadata>({ maxSize: HELD_BYTES, ttl: HELD_MS, ttlAutopurge: true })

/**
 * Large metadata documents that are in use: all that load a table at the same time, or while one of them still has it, get the same
 * document, but for the first load of a table. A metadata file never changes; should one be replaced nevertheless, its state is compared before each use.
 */
class SharedMetadata {
  /** Whether the last metadata file in a folder was large: the next one is about as large. */
  readonly #isLarge = new LRUCache<string, boolean>({ max: MAX_FOLDERS })
  readonly #documents = new LRUCache<string, Shared>({ max: MAX_DOCUMENTS })

  async read(io: FileIO, location: string): Promise<TableMetadata> {
    const folder = location.slice(0, location.lastIndexOf('/'))
    // The state of a file is one request more, and says less than a read when the store refuses it.
    if (this.#isLarge.get(folder) !== true) {
      const bytes = await io.read(location)
      this.#isLarge.set(folder, isLarge(location, bytes.length))
      return parseTableMetadata(bytes)
    }
    const file = await io.stat(location)
    if (file === undefined || !isLarge(location, file.sizeBytes)) {
      if (file !== undefined) this.#isLarge.set(folder, false)
      return parseTableMetadata(await io.read(location))
    }
    return (await this.#find(location, file)) ?? (await this.#load(io, location, file))
  }

  async #find(location: string, file: FileStatus): Promise<TableMetadata | undefined> {
    const shared = this.#documents.get(location)
    if (shared === undefined || !isSameFile(file, shared.file)) return undefined
    const metadata = (await shared.loading) ?? shared.metadata?.deref()
    if (metadata !== undefined) held.get(shared, { updateAgeOnGet: true })
    return metadata
  }

  async #load(io: FileIO, location: string, file: FileStatus): Promise<TableMetadata> {
    const reading = io.read(location).then(parseTableMetadata)
    const shared: Shared = { file, loading: reading.catch(() => undefined), metadata: undefined }
    this.#documents.set(location, shared)
    let isUnchanged = false
    try {
      const metadata = await reading
      isUnchanged = isSameFile(await io.stat(location), file)
      if (isUnchanged) this.#share(shared, metadata)
      return metadata
    } finally {
      if (!isUnchanged && this.#documents.get(location) === shared) this.#documents.delete(location)
    }
  }

  #share(shared: Shared, metadata: TableMetadata): void {
    shared.metadata = new WeakRef(metadata)
    shared.loading = undefined
    held.set(shared, metadata, {
      size: Math.max(shared.file.sizeBytes, metadata.snapshots.length * BYTES_PER_SNAPSHOT),
    })
  }
}

function isLarge(location: string, sizeBytes: number): boolean {
  return sizeBytes >= (location.includes('.gz.') ? LARGE_COMPRESSED_BYTES : LARGE_BYTES)
}

/** By FileIO: another may have other credentials, or another store behind the same locations. */
const byIo = new WeakMap<FileIO, SharedMetadata>()

/** Reads the metadata file at a location; the same document for several callers if it is large. Errors of FileIO and `parseTableMetadata`. */
export function readMetadata(io: FileIO, location: string): Promise<TableMetadata> {
  const known = byIo.get(io) ?? new SharedMetadata()
  byIo.set(io, known)
  return known.read(io, location)
}
