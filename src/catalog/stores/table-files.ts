import { IcebergError } from '../../iceberg/errors.ts'
import { isAzureLocation } from '../../iceberg/io/azure/location.ts'
import { EitherFileIO } from '../../iceberg/io/either.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { isGoogleLocation } from '../../iceberg/io/google/location.ts'
import { LocalFileIO } from '../../iceberg/io/local.ts'
import { isS3Location } from '../../iceberg/io/s3/location.ts'
import type { ReadProperty } from '../settings.ts'
import { azureSettings } from './azure-settings.ts'
import { googleSettings } from './google-settings.ts'
import { s3Settings } from './s3-settings.ts'

/** A kind of object store. */
interface StoreKind {
  /** Schemes of its locations, as `locationParts` returns them. */
  readonly schemes: readonly string[]
  readonly serves: (location: string) => boolean
  readonly open: (roots: readonly string[], property: ReadProperty) => Promise<FileIO>
}

/** The object stores that Lockhouse supports. Their libraries are large, and are loaded only when needed. */
const STORES: readonly StoreKind[] = [
  {
    schemes: ['s3'],
    serves: isS3Location,
    open: async (roots, property) => {
      const settings = s3Settings(property)
      const { S3FileIO } = await import('../../iceberg/io/s3/file-io.ts')
      return new S3FileIO({ ...settings, roots })
    },
  },
  {
    schemes: ['abfs', 'wasb'],
    serves: isAzureLocation,
    open: async (roots, property) => {
      const settings = azureSettings(property, roots)
      const { AzureFileIO } = await import('../../iceberg/io/azure/file-io.ts')
      return new AzureFileIO({ settings, roots })
    },
  },
  {
    schemes: ['gs'],
    serves: isGoogleLocation,
    open: async (roots, property) => {
      const settings = googleSettings(property)
      const { GoogleFileIO } = await import('../../iceberg/io/google/file-io.ts')
      return new GoogleFileIO({ settings, roots })
    },
  },
]

/** True for locations in an object store. */
export function isStoreLocation(location: string): boolean {
  return STORES.some(({ serves }) => serves(location))
}

/** Schemes of the object stores that have one of the roots. */
export function storeSchemes(roots: readonly string[]): readonly string[] {
  return STORES.flatMap(({ schemes, serves }) => (roots.some(serves) ? schemes : []))
}

/**
 * The files below `roots`: local folders, and locations in object stores that the properties describe with the names of PyIceberg
 * and Iceberg's Java. Sends no request yet. `INVALID_ARGUMENT` for invalid roots and properties, `UNSUPPORTED` for other
 * stores.
 */
export async function openTableFiles(roots: readonly string[], property: ReadProperty): Promise<FileIO> {
  const local = roots.filter((root) => !isStoreLocation(root))
  let io: FileIO = new LocalFileIO({ roots: local.map(localFolder) })
  for (const { serves, open } of STORES) {
    const stored = roots.filter(serves)
    if (stored.length > 0) io = new EitherFileIO(io, await open(stored, property), serves)
  }
  return io
}

function localFolder(location: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'file') {
    const known = 'a local folder, or an s3:, abfss: or gs: location'
    throw new IcebergError('UNSUPPORTED', `${scheme} locations are not supported yet: use ${known}`)
  }
  if (scheme === undefined && !location.startsWith('/')) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `the location ${JSON.stringify(location)} must be an absolute path or file: URI`,
    )
  }
  return location
}
