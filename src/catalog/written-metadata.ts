import { LRUCache } from 'lru-cache'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'

/** Of metadata files; parsed, a document takes several times as much. */
const MAX_BYTES = 8 * 2 ** 20

/**
 * The last metadata files that this process wrote and committed, by location: the next commit of such a table need not read
 * its file again. Only files under new random names are kept, because a name that others choose can stand for another table
 * later.
 */
export class WrittenMetadata {
  readonly #kept = new LRUCache<string, { readonly metadata: TableMetadata; readonly bytes: number }>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  })

  find(location: string): TableMetadata | undefined {
    return this.#kept.get(location)?.metadata
  }

  /** `bytes`: size of its file. */
  keep(location: string, metadata: TableMetadata, bytes: number): void {
    this.#kept.set(location, { metadata, bytes })
  }
}
