import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'

const CONCURRENT_LOOKS = 8

/** All tables of a catalog but one, each with its current metadata file if known without loading the table. */
export async function otherEntries(catalog: Catalog, than: TableIdentifier): Promise<readonly CatalogEntry[]> {
  const own = formatIdentifier(than)
  return allEntries(catalog, (identifier) => identifier === undefined || formatIdentifier(identifier) !== own)
}

/** The tables of a catalog, each with its current metadata file if known without loading the table. */
export async function allEntries(
  catalog: Catalog,
  isWanted: (identifier: TableIdentifier | undefined) => boolean = () => true,
): Promise<readonly CatalogEntry[]> {
  const listed = await (catalog.listNeeded ?? catalog.listEntries)?.call(catalog)
  if (listed !== undefined) return listed.filter(({ identifier }) => isWanted(identifier))
  const wanted = (await catalog.listTables()).filter(isWanted)
  return mapBounded(wanted, CONCURRENT_LOOKS, async (identifier) => ({
    name: formatIdentifier(identifier),
    identifier,
    metadataLocation: await locate(catalog, identifier),
    load: () => catalog.loadTable(identifier),
  }))
}

/** The tables of a catalog, with their metadata files where the list has them. */
export async function listedEntries(catalog: Catalog): Promise<readonly CatalogEntry[]> {
  if (catalog.listEntries !== undefined) return catalog.listEntries()
  return (await catalog.listTables()).map((identifier) => ({
    name: formatIdentifier(identifier),
    identifier,
    metadataLocation: undefined,
    load: () => catalog.loadTable(identifier),
  }))
}

/** A catalog that does not know the location of a table may still load it, or fail with a reason. */
async function locate(catalog: Catalog, identifier: TableIdentifier): Promise<string | undefined> {
  try {
    return await catalog.locateTable?.(identifier)
  } catch (error) {
    if (isIcebergError(error)) return undefined
    throw error
  }
}
