import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'
import { formatIdentifier } from '../table-identifier.ts'
import { footprintOf, overlapOf } from './footprint.ts'
import { neighboursOf } from './neighbours.ts'

/**
 * Other names of a table in its catalog, which other systems may have added: entries with the same UUID or the same
 * metadata file. Errors: those of `neighboursOf`.
 */
export async function otherNamesOf(catalog: Catalog, table: Table): Promise<readonly string[]> {
  const own = await footprintOf(table)
  const neighbours = await neighboursOf(catalog, table)
  return neighbours.flatMap(({ entry: { identifier }, footprint }) =>
    identifier !== undefined && overlapOf(own, footprint) === 'same-table' ? [formatIdentifier(identifier)] : [],
  )
}
