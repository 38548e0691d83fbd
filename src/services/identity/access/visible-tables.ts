import type { Catalog } from '../../../catalog/catalog.ts'
import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import type { Caller, Role } from '../../../domain/roles.ts'
import { isLimited, requireTable, seesTable } from './require-access.ts'

/** What looks tables up by their names. */
export type VisibleTables = Pick<Catalog, 'listTables' | 'loadTable'>

/** The tables of a catalog that exist for the caller. One on which the caller's role is lower than `minimum` is `FORBIDDEN`. */
export function visibleTables(catalog: Catalog, caller: Caller, minimum: Role): VisibleTables {
  if (!isLimited(caller)) return catalog
  return {
    async listTables(namespace) {
      const all = await catalog.listTables(namespace)
      return all.filter((identifier) => seesTable(caller, formatIdentifier(identifier)))
    },
    async loadTable(identifier) {
      requireTable(caller, formatIdentifier(identifier), minimum)
      const table = await catalog.loadTable(identifier)
      // the catalog may read the name in another way
      requireTable(caller, formatIdentifier(table.identifier), minimum)
      return table
    },
  }
}
