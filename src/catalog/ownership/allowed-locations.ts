import { memberOf } from '../catalog.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { isInside, placeOf, textualPlace } from '../../iceberg/io/place.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'

/**
 * Throws `INVALID_ARGUMENT` when a change makes a table use folders or files outside the locations that the catalog
 * allows. What the base has already (undefined: nothing) is not checked again. A REST catalog without a storage location
 * leaves this to its server.
 */
export async function requireAllowedLocations(catalog: Catalog, base: Table | undefined, next: Table): Promise<void> {
  const known = new Set(base === undefined ? [] : namedLocations(base))
  await requireInRoots(
    memberOf(catalog, next.identifier),
    next.io,
    namedLocations(next).filter((location) => !known.has(location)),
  )
}

/** Throws `INVALID_ARGUMENT` unless all of the locations are inside those that the catalog allows; links are followed. */
export async function requireInRoots(catalog: WithRoots, io: FileIO, locations: readonly string[]): Promise<void> {
  const roots = rootsOf(catalog)
  if (roots.length === 0 || locations.length === 0) return
  const allowed = await Promise.all(roots.map((root) => placeOf(io, root)))
  for (const location of locations) {
    const place = await placeOf(io, location)
    if (allowed.some((root) => isInside(place, root))) continue
    const message = `${location.slice(0, 500)} is outside the warehouse and the other locations that the catalog allows.`
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
}

/**
 * Throws `INVALID_ARGUMENT` for a location whose text is inside those that the catalog allows, but that a link leads out of
 * them. Other locations are refused where they are used.
 */
export async function requireNoLinkOut(catalog: WithRoots, io: FileIO, locations: readonly string[]): Promise<void> {
  const roots = rootsOf(catalog).map(textualPlace)
  const inside = locations.filter((location) => roots.some((root) => isInside(textualPlace(location), root)))
  await requireInRoots(catalog, io, inside)
}

type WithRoots = Pick<Catalog, 'roots' | 'warehouse'>

/** The locations that may contain a catalog's tables. */
export function rootsOf(catalog: WithRoots): readonly string[] {
  return catalog.roots ?? [catalog.warehouse]
}

/** Whether two states of a table use different folders. */
export function hasOtherFolders(base: Table, next: Table): boolean {
  return ownedFolders(base.metadata).join('\n') !== ownedFolders(next.metadata).join('\n')
}

/** The folders and files that the metadata of a table names, without those that a manifest names. */
export function namedLocations({ metadata }: Pick<Table, 'metadata'>): readonly string[] {
  return [
    ...ownedFolders(metadata),
    ...metadata.snapshots.flatMap(({ manifestList, manifests = [] }) => manifestList ?? manifests),
    ...[...metadata.statistics, ...metadata.partitionStatistics].map(({ statisticsPath }) => statisticsPath),
  ]
}
