import type { TableIdentifier } from '../iceberg/table.ts'
import { formatIdentifier } from './table-identifier.ts'

/** A state of a table for which the catalog gave an entity tag (RFC 9110, section 8.8.3). */
export interface TaggedLocation {
  readonly entityTag: string
  readonly metadataLocation: string
}

/** What is forgotten costs one load. */
const MAX_TAGS = 1000

/** The last tagged states of tables. */
export class RestEntityTags {
  readonly #tags = new Map<string, TaggedLocation>()

  find(identifier: TableIdentifier): TaggedLocation | undefined {
    return this.#tags.get(formatIdentifier(identifier))
  }

  /** Takes the place of what was remembered of the table; without a tag, nothing is any more. */
  remember(identifier: TableIdentifier, entityTag: string | null, metadataLocation: string): void {
    const name = formatIdentifier(identifier)
    this.#tags.delete(name)
    if (entityTag === null) return
    this.#tags.set(name, { entityTag, metadataLocation })
    for (const oldest of this.#tags.keys()) {
      if (this.#tags.size <= MAX_TAGS) break
      this.#tags.delete(oldest)
    }
  }
}
