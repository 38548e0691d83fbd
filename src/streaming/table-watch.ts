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

/** A watch that all pipelines of a process share; concurrent readers of one table wait for one load. */
export function createTableWatch(catalog: () => Catalog): TableWatch {
  const known = new Map<
    string,
    { readonly catalog: Catalog; readonly location: string; readonly table: Promise<Table> }
  >()

  function keep(name: string, entry: { catalog: Catalog; location: string; table: Promise<Table> }): void {
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
      const before = known.get(name)
      const location = await from.locateTable(identifier, before?.catalog === from ? before.location : undefined)
      const cached = known.get(name)
      if (cached?.location === location && cached.catalog === from) return cached.table
      const table = from.loadTable(identifier)
      keep(name, { catalog: from, location, table })
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
      keep(formatIdentifier(identifier), { catalog: from, location, table: Promise.resolve(table) })
    },
  }
}
