import { IcebergError } from '../../iceberg/errors.ts'
import { EitherFileIO } from '../../iceberg/io/either.ts'
import type { FileIO } from '../../iceberg/io/file-io.ts'
import { LocalFileIO } from '../../iceberg/io/local.ts'
import { isS3Location } from '../../iceberg/io/s3-location.ts'
import { s3Settings } from './s3-settings.ts'
import type { ReadProperty } from '../settings.ts'

/**
 * The files below `roots`: local folders, and `s3:` locations of the object store that the properties `s3.…`
 * describe, as PyIceberg and Iceberg's Java name them. Sends no request yet. `INVALID_ARGUMENT` for invalid roots and
 * properties, `UNSUPPORTED` for other stores.
 */
export async function openTableFiles(roots: readonly string[], property: ReadProperty): Promise<FileIO> {
  const stored = roots.filter(isS3Location)
  const local = new LocalFileIO({ roots: roots.filter((root) => !isS3Location(root)).map(localFolder) })
  if (stored.length === 0) return local
  const settings = s3Settings(property)
  const { S3FileIO } = await import('../../iceberg/io/s3.ts') // large: loaded only when needed
  return new EitherFileIO(local, new S3FileIO({ ...settings, roots: stored }), isS3Location)
}

function localFolder(location: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(location)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'file') {
    const known = 'a local folder or an s3: location'
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
