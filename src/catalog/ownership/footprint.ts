import type { FileIO } from '../../iceberg/io/file-io.ts'
import { FilePlaces, isInside, parentPlace, type PlaceSource, placeOf } from '../../iceberg/io/place.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { type StagedFiles, stagedFilesIn } from './staged-rows.ts'

/** The storage that a table uses, from its metadata alone. All values are places, see `placeOf`. */
export interface Footprint {
  /** Empty when unknown. */
  readonly uuid: string
  readonly metadataFile: string
  /** Everything in them belongs to the table: its location and the folders for new files in its properties. */
  readonly folders: readonly string[]
  /** Files that the metadata references outside the folders. */
  readonly outside: readonly string[]
  /** Files in folders of other tables that its pipelines wrote for commits there; `unknown` when its metadata cannot tell. */
  readonly staged: readonly StagedFiles[] | 'unknown'
}

/** A footprint with all that it depends on besides the metadata, which never changes. */
export interface TracedFootprint {
  readonly footprint: Footprint
  /** The places of a few locations: as long as these stay the same, so does the footprint. Empty if links do not count. */
  readonly resolved: ReadonlyMap<string, string>
}

/** The footprint of a table whose metadata can be read. */
export async function footprintOf(table: Table): Promise<Footprint> {
  return (await traceFootprint(table)).footprint
}

/** The same, with the places that it depends on. */
export async function traceFootprint(table: Table): Promise<TracedFootprint> {
  const { io, metadata, metadataLocation } = table
  const resolved = new Map<string, string>()
  const source = traced(io, resolved)
  const place = (location: string): Promise<string> => placeOf(source, location)
  const folders = [...new Set(await Promise.all(ownedFolders(metadata).map(place)))]
  const named = [
    ...metadata.metadataLog.map(({ metadataFile }) => metadataFile),
    ...[...metadata.statistics, ...metadata.partitionStatistics].map(({ statisticsPath }) => statisticsPath),
    ...metadata.snapshots.flatMap(({ manifestList, manifests = [] }) => manifestList ?? manifests),
  ]
  const outside = new Set<string>()
  const places = new FilePlaces(source)
  for (const location of named) {
    const file = await places.of(location)
    if (!folders.some((folder) => isInside(file, folder))) outside.add(file)
  }
  const metadataFile = await place(metadataLocation)
  const uuid = metadata.tableUuid.toLowerCase()
  const staged = stagedFilesIn(metadata)
  return { footprint: { uuid, metadataFile, folders, outside: [...outside], staged }, resolved }
}

/** The places of a FileIO, each of which is noted once it is known. */
function traced(io: FileIO, resolved: Map<string, string>): PlaceSource {
  if (io.place === undefined) return {}
  return {
    async place(location) {
      const place = await placeOf(io, location)
      resolved.set(location, place)
      return place
    },
  }
}

/** The footprint of a table whose metadata cannot be read: the folder above `metadata/`, or that of the file. */
export async function footprintOfPointer(io: FileIO, metadataLocation: string): Promise<Footprint> {
  const metadataFile = await placeOf(io, metadataLocation)
  const folder = parentPlace(metadataFile)
  const tableFolder = folder.endsWith('/metadata') ? parentPlace(folder) : folder
  return { uuid: '', metadataFile, folders: [tableFolder], outside: [], staged: 'unknown' }
}

/** How two tables overlap; undefined when they do not. */
export type Overlap = 'same-table' | 'same-folder' | undefined

/** Whether two tables are the same, or have folders that are equal or nested. */
export function overlapOf(a: Footprint, b: Footprint): Overlap {
  if (a.metadataFile === b.metadataFile || (a.uuid !== '' && a.uuid === b.uuid)) return 'same-table'
  const meets = a.folders.some((mine) => b.folders.some((theirs) => isInside(mine, theirs) || isInside(theirs, mine)))
  const points = b.folders.some((folder) => isInside(a.metadataFile, folder))
  const isPointedAt = a.folders.some((folder) => isInside(b.metadataFile, folder))
  return meets || points || isPointedAt ? 'same-folder' : undefined
}
