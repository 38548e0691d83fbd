import { memberOf } from '../../catalog/catalog.ts'
import { LRUCache } from 'lru-cache'

import type { Catalog } from '../../catalog/catalog.ts'
import { isSameFile } from '../../catalog/file-state.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { FileStatus } from '../../iceberg/io/file-io.ts'
import { isNamedOnce } from '../../iceberg/metadata/locations.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'

/** The current tables of a catalog; metadata is read again only when the pointer has moved. */
export interface TableWatch {
  /** The table; the same object as long as it has not changed. */
  current(identifier: TableIdentifier): Promise<Table>
  /** Stores the result of a commit, so that it need not be read again. */
  committed(table: Table): void
}

/** Max cached tables. */
const MAX_TABLES = 256

/** How long a catalog may rely on a known metadata location before it looks it up without one, ms. */
const TRUST_MS = 30_000

interface Known {
  readonly catalog: Catalog
  readonly location: string
  /** The file at the location before it was read, where another file may get the same location. */
  readonly file: FileStatus | undefined
  readonly table: Promise<Table>
  /** When the location was last looked up without a known one. */
  readonly foundAt: number
}

/** The file at a location that another file may get later; undefined for other locations. */
async function reusableFile(
  catalog: Catalog,
  { identifier, location }: { readonly identifier: TableIdentifier; readonly location: string },
): Promise<FileStatus | undefined> {
  return isNamedOnce(location) ? undefined : memberOf(catalog, identifier).statMetadataFile?.(location)
}

function isCurrent(known: Known, { catalog, location, file }: Pick<Known, 'catalog' | 'location' | 'file'>): boolean {
  if (known.location !== location || known.catalog !== catalog) return false
  return file === undefined ? known.file === undefined : isSameFile(file, known.file)
}

/**
 * A watch that all pipelines of a process share; concurrent readers of one table wait for one load. `clockMs` must be
 * monotonic.
 */
export function createTableWatch(catalog: () => Catalog, clockMs = () => performance.now()): TableWatch {
  const known = new LRUCache<string, Known>({ max: MAX_TABLES })

  /** Loads a table and keeps it, unless that fails. */
  async function load(identifier: TableIdentifier, found: Omit<Known, 'table'>): Promise<Table> {
    const name = formatIdentifier(identifier)
    const table = found.catalog.loadTable(identifier)
    known.set(name, { ...found, table })
    try {
      return await table
    } catch (error) {
      if (known.get(name)?.table === table) known.delete(name)
      throw error
    }
  }

  return {
    async current(identifier) {
      const from = catalog()
      if (from.locateTable === undefined) return from.loadTable(identifier)
      const name = formatIdentifier(identifier)
      const now = clockMs()
      const before = known.get(name)
      const trusted = before?.catalog === from && now - before.foundAt < TRUST_MS ? before : undefined
      const location = await from.locateTable(identifier, trusted?.location)
      const foundAt = trusted?.foundAt ?? now
      const file = await reusableFile(from, { identifier, location })
      const cached = known.get(name)
      if (cached !== undefined && isCurrent(cached, { catalog: from, location, file })) {
        if (trusted === undefined) known.set(name, { ...cached, foundAt })
        return cached.table
      }
      return load(identifier, { catalog: from, location, file, foundAt })
    },
    committed(table) {
      const from = catalog()
      const { identifier, metadataLocation: location } = table
      const entry = { catalog: from, location, file: undefined, table: Promise.resolve(table), foundAt: clockMs() }
      known.set(formatIdentifier(identifier), entry)
    },
  }
}
