import { IcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { isInside, parentPlace, placeOf } from '../../iceberg/io/place.ts'
import { ownedFolders } from '../../iceberg/metadata/locations.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { Catalog } from '../catalog.ts'
import { formatNamespace } from '../table-identifier.ts'

/** Where the tables of namespaces are by default. */
export interface NamespaceFolders {
  readonly warehouse: string
  list(): Promise<readonly (readonly string[])[]>
  /** The `location` property of a namespace. */
  location(namespace: readonly string[]): Promise<string | undefined>
}

/** The folders of a catalog's namespaces; undefined for a catalog without properties of namespaces. */
export function namespaceFolders(catalog: Catalog): NamespaceFolders | undefined {
  const { names } = catalog
  if (names === undefined) return undefined
  return {
    warehouse: catalog.warehouse,
    list: () => catalog.listNamespaces(),
    location: async (namespace) => (await names.properties(namespace))['location'],
  }
}

/** The folder of the tables of a namespace, as a location without a slash at its end. */
export async function folderOfNamespace(folders: NamespaceFolders, namespace: readonly string[]): Promise<string> {
  const location = (await folders.location(namespace)) ?? [folders.warehouse, ...namespace].join('/')
  return location.replace(/\/+$/, '')
}

/**
 * Throws `TABLES_OVERLAP` when the folders of a table, which `base` does not have, are in or around the folder of another
 * namespace, whose own tables could then no longer be created.
 */
export async function requireOwnNamespace(
  folders: NamespaceFolders,
  base: Table | undefined,
  { identifier, metadata, io }: Table,
): Promise<void> {
  const known = new Set(base === undefined ? [] : ownedFolders(base.metadata))
  const added = ownedFolders(metadata).filter((folder) => !known.has(folder))
  const mine = await placeOf(io, await folderOfNamespace(folders, identifier.namespace))
  const places = await Promise.all(added.map((folder) => placeOf(io, folder)))
  // directly in the folder of its namespace, which is the usual place, with what is below it
  const unusual = places.filter((place) => !places.some((one) => parentPlace(one) === mine && isInside(place, one)))
  for (const place of unusual) await requireOutsideOthers(folders, { io, namespace: identifier.namespace, place, mine })
}

/** Throws `INVALID_ARGUMENT` when the folder of a namespace would be in or around the one of another, unrelated namespace. */
export async function requireFreeFolder(
  folders: NamespaceFolders,
  io: FileIO,
  { namespace, location }: { readonly namespace: readonly string[]; readonly location: string },
): Promise<void> {
  const place = await placeOf(io, location)
  for (const other of await folders.list()) {
    if (isRelated(other, namespace)) continue
    const theirs = await placeOf(io, await folderOfNamespace(folders, other))
    if (!isInside(place, theirs) && !isInside(theirs, place)) continue
    const message = `${location.slice(0, 500)} overlaps the folder of the namespace ${formatNamespace(other)}: choose another.`
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
}

interface Wanted {
  readonly io: FileIO
  readonly namespace: readonly string[]
  readonly place: string
  /** The place of the folder of the namespace. */
  readonly mine: string
}

async function requireOutsideOthers(folders: NamespaceFolders, { io, namespace, place, mine }: Wanted): Promise<void> {
  const own = formatNamespace(namespace)
  for (const other of await folders.list()) {
    if (formatNamespace(other) === own) continue
    const theirs = await placeOf(io, await folderOfNamespace(folders, other))
    const isTheirs = isInside(place, theirs) && !(isInside(mine, theirs) && isInside(place, mine))
    if (!isTheirs && !isInside(theirs, place)) continue
    const message =
      `${place.slice(0, 500)} overlaps the folder of the namespace ${formatNamespace(other)}: ` +
      `a table of ${own} belongs into the folder of ${own}, or into one of no namespace.`
    throw new IcebergError('TABLES_OVERLAP', message)
  }
}

/** Whether one of the namespaces contains the other. */
function isRelated(a: readonly string[], b: readonly string[]): boolean {
  const length = Math.min(a.length, b.length)
  return formatNamespace(a.slice(0, length)) === formatNamespace(b.slice(0, length))
}
