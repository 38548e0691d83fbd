import { mapBounded } from '../../lib/bounded-map.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { Catalog, CatalogEntry } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'

const CONCURRENT_LOOKS = 8

/** All tables of a catalog but one, each with its current metadata file if known without loading the table. */
export async function otherEntries(catalog: Catalog, than: TableIdentifier): Promise<readonly CatalogEntry[]> {
  const own = formatIdentifier(than)
  const isOther = (identifier: TableIdentifier | undefined): boolean =>
    identifier === undefined || formatIdentifier(identifier) !== own
  if (catalog.listEntries !== undefined) {
    return (await catalog.listEntries()).filter(({ identifier }) => isOther(identifier))
  }
  const others = (await catalog.listTables()).filter(isOther)
  return mapBounded(others, CONCURRENT_LOOKS, async (identifier) => ({
    name: formatIdentifier(identifier),
    identifier,
    metadataLocation: await locate(catalog, identifier),
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
