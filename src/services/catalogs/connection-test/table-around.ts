import { footprintOfPointer } from '../../../catalog/ownership/footprint.ts'
import type { CheckableCatalog } from '../../../catalog/catalog-checks.ts'
import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { isInside, placeOf } from '../../../iceberg/io/place.ts'
import { ownedFolders } from '../../../iceberg/metadata/locations.ts'
import type { Table } from '../../../iceberg/metadata/table.ts'

/** Files that are looked at in a folder `metadata`; a table has its metadata files there. */
const MAX_LISTED = 1000

export interface Surroundings {
  readonly catalog: CheckableCatalog
  readonly io: FileIO
  /** A table that was loaded. */
  readonly table: Table | undefined
}

/**
 * The name of a table in whose folder the warehouse is, or a description of the table; undefined when none is known. A probe
 * in such a warehouse would be in the folder of a table. Loads no metadata.
 */
export async function tableAround({ catalog, io, table }: Surroundings): Promise<string | undefined> {
  const { warehouse } = catalog
  const place = await placeOf(io, warehouse)
  for (const folder of table === undefined ? [] : ownedFolders(table.metadata)) {
    if (table !== undefined && isInside(place, await placeOf(io, folder))) return formatIdentifier(table.identifier)
  }
  // a REST catalog needs a request per table, and its server chooses their locations
  const entries = catalog.checks.lent === undefined ? await catalog.listEntries?.() : undefined
  for (const { name, metadataLocation } of entries ?? []) {
    if (metadataLocation === undefined) continue
    const { folders } = await footprintOfPointer(io, metadataLocation)
    if (folders.some((folder) => isInside(place, folder))) return name
  }
  return (await hasTableMetadata(io, warehouse)) ? `a table whose metadata is in ${warehouse}/metadata` : undefined
}

async function hasTableMetadata(io: FileIO, folder: string): Promise<boolean> {
  const metadata = `${folder.replace(/\/+$/, '')}/metadata`
  if (io.listNames !== undefined) return (await io.listNames(metadata)).some(isMetadataFile)
  let seen = 0
  for await (const { location } of io.list(metadata)) {
    const name = location.slice(metadata.length + 1)
    if (!name.includes('/') && isMetadataFile(name)) return true
    seen += 1
    if (seen === MAX_LISTED) break
  }
  return false
}

function isMetadataFile(name: string): boolean {
  return name.includes('.metadata.json')
}
