import { IcebergError } from '../iceberg/errors.ts'
import { EitherFileIO } from '../iceberg/io/either.ts'
import type { FileIO } from '../iceberg/io/file-io.ts'
import { LocalFileIO } from '../iceberg/io/local.ts'
import type { S3Settings } from '../iceberg/io/s3.ts'
import { isS3Location } from '../iceberg/io/s3-location.ts'
import type { ReadProperty } from './settings.ts'

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
  const { S3FileIO } = await import('../iceberg/io/s3.ts') // large: loaded only when needed
  return new EitherFileIO(local, new S3FileIO({ ...settings, roots: stored }), isS3Location)
}

function s3Settings(property: ReadProperty): S3Settings {
  const endpoint = property('s3.endpoint')
  if (endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/i.test(endpoint)) {
    throw new IcebergError('INVALID_ARGUMENT', 'extra_props.s3.endpoint must be an address such as https://host:9000')
  }
  const region = property('s3.region') ?? property('client.region')
  const pathStyle = property('s3.path-style-access')
  const credentials = s3Credentials(property)
  return {
    pathStyle: pathStyle === undefined ? endpoint !== undefined : pathStyle === 'true',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  }
}

function s3Credentials(property: ReadProperty): S3Settings['credentials'] {
  const accessKeyId = property('s3.access-key-id')
  const secretAccessKey = property('s3.secret-access-key')
  const sessionToken = property('s3.session-token')
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const message = 'extra_props: s3.access-key-id and s3.secret-access-key must be set together'
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
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
