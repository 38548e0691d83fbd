import { LRUCache } from 'lru-cache'

import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import { formatIdentifier } from '../table-identifier.ts'

/** A state of a table with the catalog's entity tag (RFC 9110, section 8.8.3). */
export interface TaggedLocation {
  readonly entityTag: string
  readonly metadataLocation: string
}

/** A dropped tag costs one load of the table, at each listing if there are more tables than tags. */
const MAX_TAGS = 100_000

/** The last tagged states of tables. */
export class RestEntityTags {
  readonly #tags = new LRUCache<string, TaggedLocation>({ max: MAX_TAGS })

  find(identifier: TableIdentifier): TaggedLocation | undefined {
    return this.#tags.get(formatIdentifier(identifier))
  }

  /** Replaces the stored state of the table; without a tag, removes it. */
  remember(identifier: TableIdentifier, entityTag: string | null, metadataLocation: string): void {
    const name = formatIdentifier(identifier)
    if (entityTag === null) this.#tags.delete(name)
    else this.#tags.set(name, { entityTag, metadataLocation })
  }
}
