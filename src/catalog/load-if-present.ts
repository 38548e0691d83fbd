import { isIcebergError } from '../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../iceberg/metadata/table.ts'
import type { Catalog } from './catalog.ts'
import { parseIdentifier } from './table-identifier.ts'

/**
 * Loads a table, given by its identifier or its qualified name; undefined when the catalog has no such table or
 * namespace. Other errors of `loadTable` and `parseIdentifier`.
 */
export async function loadIfPresent(
  catalog: Pick<Catalog, 'loadTable'>,
  table: TableIdentifier | string,
): Promise<Table | undefined> {
  try {
    return await catalog.loadTable(typeof table === 'string' ? parseIdentifier(table) : table)
  } catch (error) {
    if (isTableMissing(error)) return undefined
    throw error
  }
}

/** Tests whether an error of a catalog reports a missing table or a missing namespace. */
export function isTableMissing(error: unknown): error is Error {
  return isIcebergError(error, 'NO_SUCH_TABLE') || isIcebergError(error, 'NO_SUCH_NAMESPACE')
}
