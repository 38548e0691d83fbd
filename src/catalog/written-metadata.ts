import { LRUCache } from 'lru-cache'
import type { FileStatus } from '../iceberg/io/file-io.ts'
import { type TableMetadata, tableMetadataText } from '../iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../iceberg/metadata/table.ts'
import { formatIdentifier } from './table-identifier.ts'

/** A metadata file that this process wrote and committed. */
export interface WrittenFile {
  readonly metadata: TableMetadata
  readonly file: FileStatus
}

/** In characters of JSON, whatever the compression of the files; with its parts, a document takes several times as much. */
const MAX_CHARACTERS = 8 * 2 ** 20

/**
 * The last metadata files that this process wrote and committed: the next commit of such a table need not read and parse its
 * file again. A file is kept for its table only, because another table may be registered with it later, and it has to be
 * compared with the file that is there now before it is used.
 */
export class WrittenMetadata {
  readonly #kept = new LRUCache<string, WrittenFile>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ metadata }) => tableMetadataText(metadata).length,
  })

  /** Undefined when another process wrote it, or when newer ones took its place. */
  find(identifier: TableIdentifier, location: string): WrittenFile | undefined {
    return this.#kept.get(keyOf(identifier, location))
  }

  keep(identifier: TableIdentifier, location: string, file: WrittenFile): void {
    this.#kept.set(keyOf(identifier, location), file)
  }
}

function keyOf(identifier: TableIdentifier, location: string): string {
  return `${formatIdentifier(identifier)}\0${location}`
}
