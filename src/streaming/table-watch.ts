import type { Catalog } from '../catalog/catalog.ts'
import { formatIdentifier } from '../catalog/table-identifier.ts'
import type { Table, TableIdentifier } from '../iceberg/table.ts'

/** The tables of a catalog as they are now; metadata is read again only when the pointer has moved. */
export interface TableWatch {
  /** The table; the same object as long as it has not changed. */
  current(identifier: TableIdentifier): Promise<Table>
  /** Takes what a commit answered, so that nobody has to read it. */
  committed(table: Table): void
}

/** Tables kept; what is needed again is read again. */
const MAX_TABLES = 256

/** For so long a catalog may go by the location that is known; then it looks as if none were, ms. */
const TRUST_MS = 30_000

interface Known {
  readonly catalog: Catalog
  readonly location: string
  readonly table: Promise<Table>
  /** When the location was last found without going by an earlier one. */
  readonly foundAt: number
}

/**
 * A watch that all pipelines of a process share; concurrent readers of one table wait for one load. `clockMs` is one
 * that never goes back.
 */
export function createTableWatch(catalog: () => Catalog, clockMs = () => performance.now()): TableWatch {
  const known = new Map<string, Known>()

  function keep(name: string, entry: Known): void {
    known.delete(name)
    known.set(name, entry)
    for (const oldest of known.keys()) {
      if (known.size <= MAX_TABLES) break
      known.delete(oldest)
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
      const cached = known.get(name)
      if (cached?.location === location && cached.catalog === from) {
        if (trusted === undefined) keep(name, { ...cached, foundAt })
        return cached.table
      }
      const table = from.loadTable(identifier)
      keep(name, { catalog: from, location, table, foundAt })
      try {
        return await table
      } catch (error) {
        if (known.get(name)?.table === table) known.delete(name)
        throw error
      }
    },
    committed(table) {
      const from = catalog()
      const { identifier, metadataLocation: location } = table
      const entry = { catalog: from, location, table: Promise.resolve(table), foundAt: clockMs() }
      keep(formatIdentifier(identifier), entry)
    },
  }
}
