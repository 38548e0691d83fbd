import { IcebergError } from '../../iceberg/errors.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { deleteFrom } from '../../iceberg/io/delete-files.ts'
import { fileNames } from '../../iceberg/io/file-names.ts'
import { placeOf } from '../../iceberg/io/place.ts'
import { vendedKind } from './vended/stores.ts'
import { locationParts } from '../../iceberg/io/location-identity.ts'

/**
 * Files of a catalog that may have tables in any store: `io` serves local files and `stores` (schemes); all others are
 * refused with `UNSUPPORTED` naming the scheme.
 */
export function onlyStores(stores: readonly string[], io: FileIO): FileIO {
  const served = (location: string): string => {
    const { scheme } = locationParts(location)
    if (scheme === undefined || scheme === 'file' || stores.includes(scheme)) return location
    const known = ['local files', ...stores.map((store) => `${store}: locations`)].join(' and ')
    if (vendedKind(location) !== undefined) throw notLent(location)
    const message = `The table has files in ${scheme}: locations, which are not supported. Supported: ${known}.`
    throw new IcebergError('UNSUPPORTED', message)
  }
  const { listFolders } = io
  return {
    read: async (location) => io.read(served(location)),
    readRange: async (location, offset, length) => io.readRange(served(location), offset, length),
    create: async (location, bytes) => io.create(served(location), bytes),
    write: async (location, bytes) => io.write(served(location), bytes),
    stat: async (location) => io.stat(served(location)),
    async *list(location) {
      yield* io.list(served(location))
    },
    ...(listFolders && { listFolders: async (location) => listFolders.call(io, served(location)) }),
    listNames: async (location) => fileNames(io, served(location)),
    place: async (location) => placeOf(io, location),
    delete: async (location) => io.delete(served(location)),
    deleteAll: async (locations) => deleteFrom(io, locations.map(served)),
    move: async (from, to) => (await io.move?.(served(from), served(to))) ?? false,
    deleteFolder: async (location) => io.deleteFolder?.(served(location)),
    localPath: (location) => io.localPath(served(location)),
    moveIn: async (path, location) => io.moveIn(path, served(location)),
  }
}

function notLent(location: string): IcebergError {
  const shown = location.slice(0, 500)
  const advice = 'add the location to allowed-locations, or let the catalog vend credentials'
  return new IcebergError('UNSUPPORTED', `The catalog returned no credentials for ${shown}: ${advice}.`)
}
