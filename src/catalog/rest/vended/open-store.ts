import { IcebergError } from '../../../iceberg/errors.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { renewedCredentials } from '../../../iceberg/io/objects/credential-source.ts'
import { googleSettings } from '../../stores/google-settings.ts'
import type { VendedCredentials, VendedKeys, VendedToken } from './message.ts'

/** Properties that do not say how to reach the store: the token is known already. */
const OF_TOKEN: ReadonlySet<string> = new Set(['gcs.oauth2.token-expires-at', 'gcs.no-auth'])

/** A store that is opened with lent credentials. */
export interface LentStore<C extends VendedCredentials> {
  readonly lent: C
  /** The name of the table, for messages. */
  readonly table: string
  /** Locations that the credentials serve. */
  readonly roots: readonly string[]
  /** Obtains new credentials for the same prefix. */
  readonly renew: () => Promise<C>
}

/** Opens a store in S3. Its library is loaded first. `IO_FAILED` if the catalog returned an invalid address. */
export async function openLentS3({ lent, table, roots, renew }: LentStore<VendedKeys>): Promise<FileIO> {
  const { endpoint, region, pathStyle } = lent
  if (endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/i.test(endpoint)) {
    throw new IcebergError('IO_FAILED', `The catalog returned an invalid s3.endpoint for ${table}.`)
  }
  const { S3FileIO } = await import('../../../iceberg/io/s3/file-io.ts') // large: loaded only when needed
  return new S3FileIO({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    pathStyle: pathStyle ?? endpoint !== undefined,
    credentials: renewedCredentials(async () => (await renew()).keys, lent.keys),
    roots,
  })
}

/** Opens a store in Google Cloud Storage. `IO_FAILED` if the catalog returned an invalid property. */
export async function openLentGoogle({ lent, table, roots, renew }: LentStore<VendedToken>): Promise<FileIO> {
  const { GoogleFileIO } = await import('../../../iceberg/io/google/file-io.ts')
  const credentials = renewedCredentials(async () => (await renew()).token, lent.token)
  return new GoogleFileIO({ settings: { ...lentSettings(lent, table), credentials }, roots })
}

function lentSettings({ properties }: VendedToken, table: string): ReturnType<typeof googleSettings> {
  try {
    return googleSettings((name) => (OF_TOKEN.has(name) ? undefined : properties[name]))
  } catch (error) {
    const why = error instanceof IcebergError ? error.message.replace('extra_props.', '') : ''
    throw new IcebergError('IO_FAILED', `The catalog returned an invalid property for ${table}: ${why}.`)
  }
}
