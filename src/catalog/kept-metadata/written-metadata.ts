import { LRUCache } from 'lru-cache'
import type { FileStatus } from '../../iceberg/io/file-io.ts'
import { type TableMetadata, tableMetadataText } from '../../iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import { formatIdentifier } from '../table-identifier.ts'

/** A metadata file that this process wrote and committed. */
export interface WrittenFile {
  readonly metadata: TableMetadata
  readonly file: FileStatus
}

interface LocatedFile {
  readonly location: string
  readonly written: WrittenFile
}

/** In characters of JSON, whatever the compression of the files; with its parts, a document takes several times as much. */
const MAX_CHARACTERS = 8 * 2 ** 20

/**
 * The last metadata file of each table that this process wrote and committed. The next commit of the table then need not read
 * and parse the file again. A commit replaces the file before it, which no later commit starts from: 100 files of one table
 * would keep 100 parsed documents. A file is kept for its table only, because another table may be registered with it later.
 * The caller compares a kept file with the stored file before use.
 */
export class WrittenMetadata {
  readonly #kept = new LRUCache<string, LocatedFile>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ written }) => tableMetadataText(written.metadata).length,
  })

  /** Undefined if another process wrote the file, a later commit replaced the file, or files of other tables displaced it. */
  find(identifier: TableIdentifier, location: string): WrittenFile | undefined {
    const kept = this.#kept.get(formatIdentifier(identifier))
    return kept?.location === location ? kept.written : undefined
  }

  keep(identifier: TableIdentifier, location: string, written: WrittenFile): void {
    this.#kept.set(formatIdentifier(identifier), { location, written })
  }
}
