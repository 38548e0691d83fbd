import { IcebergError } from '../../iceberg/errors.ts'
import { isInside, placeOf } from '../../iceberg/io/place.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'

/**
 * Throws `INVALID_ARGUMENT` when a change makes a table use folders or files outside the locations that the catalog
 * allows. What the base has already (undefined: nothing) is not checked again. A REST catalog without a storage location
 * leaves this to its server.
 */
export async function requireAllowedLocations(catalog: Catalog, base: Table | undefined, next: Table): Promise<void> {
  const roots = catalog.roots ?? [catalog.warehouse]
  if (roots.length === 0) return
  const known = new Set(base === undefined ? [] : namedLocations(base))
  const added = namedLocations(next).filter((location) => !known.has(location))
  if (added.length === 0) return
  const allowed = await Promise.all(roots.map((root) => placeOf(next.io, root)))
  for (const location of added) {
    const place = await placeOf(next.io, location)
    if (allowed.some((root) => isInside(place, root))) continue
    const message = `${location.slice(0, 500)} is outside the warehouse and the other locations that the catalog allows.`
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
}

/** Whether two states of a table use different folders. */
export function hasOtherFolders(base: Table, next: Table): boolean {
  return ownedFolders(base.metadata).join('\n') !== ownedFolders(next.metadata).join('\n')
}

function namedLocations({ metadata }: Table): readonly string[] {
  return [
    ...ownedFolders(metadata),
    ...metadata.snapshots.flatMap(({ manifestList, manifests = [] }) => manifestList ?? manifests),
    ...[...metadata.statistics, ...metadata.partitionStatistics].map(({ statisticsPath }) => statisticsPath),
  ]
}
