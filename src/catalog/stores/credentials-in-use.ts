import { accountOfLocation, isAzureLocation } from '../../iceberg/io/azure/location.ts'
import { isGoogleLocation } from '../../iceberg/io/google/location.ts'
import type { Credentials, CredentialSource } from '../../iceberg/io/objects/credential-source.ts'
import { isS3Location } from '../../iceberg/io/s3/location.ts'
import type { CredentialsInUse } from '../catalog-checks.ts'
import type { ReadProperty } from '../settings.ts'
import { azureSettings } from './azure-settings.ts'
import { GCS_KEYS, googleSettings } from './google-settings.ts'
import { S3_KEYS, s3Settings, staticKeys } from './s3-settings.ts'

/**
 * The credentials of the settings for a location, obtained now, and renewed once if that is possible. Undefined for files
 * of this machine, which need none. Throws `IO_FAILED` if none can be obtained, `INVALID_ARGUMENT` for invalid properties.
 */
export async function credentialsInUse(
  location: string,
  property: ReadProperty,
): Promise<CredentialsInUse | undefined> {
  if (isS3Location(location)) return s3Credentials(property)
  if (isAzureLocation(location)) return azureCredentials(location, property)
  if (isGoogleLocation(location)) return googleCredentials(property)
  return undefined
}

async function s3Credentials(property: ReadProperty): Promise<CredentialsInUse> {
  const { credentials } = s3Settings(property)
  const role = property('client.assume-role.arn')
  const keys = staticKeys(property)
  const isFixed = keys !== undefined && role === undefined
  return inUse(s3Source({ role, hasKeys: keys !== undefined }), { credentials, isFixed })
}

async function googleCredentials(property: ReadProperty): Promise<CredentialsInUse> {
  const { credentials } = googleSettings(property)
  if (credentials === undefined) return { source: 'no credentials' }
  const isFixed = property(GCS_KEYS.token) !== undefined
  return inUse(isFixed ? 'a bearer token' : "Google's application default credentials", { credentials, isFixed })
}

/** Obtains credentials, and renews them once unless they are fixed. */
async function inUse<C extends Credentials>(
  source: string,
  { credentials, isFixed }: { readonly credentials: CredentialSource<C>; readonly isFixed: boolean },
): Promise<CredentialsInUse> {
  const first = await credentials.current()
  const isRenewed = !isFixed && (await credentials.replace(first))
  const { expiresAtMs } = await credentials.current()
  return {
    source,
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(isRenewed ? { isRenewed } : {}),
  }
}

function s3Source({ role, hasKeys }: { readonly role: string | undefined; readonly hasKeys: boolean }): string {
  const base = hasKeys ? `static keys of ${S3_KEYS.accessKeyId[0]}` : "the AWS SDK's default chain"
  return role === undefined ? base : `the role ${role}, assumed with ${base}`
}

const AZURE_SOURCES = {
  key: 'an account key',
  sas: 'a SAS token',
  token: 'a bearer token',
  secret: 'a client secret',
  default: "the Azure SDK's default chain",
} as const

function azureCredentials(location: string, property: ReadProperty): CredentialsInUse {
  const { host } = accountOfLocation(location)
  const { identity } = azureSettings(property, [location]).accountAt(host)
  const expiresAtMs = identity.kind === 'sas' ? sasExpiry(identity.token) : undefined
  return { source: AZURE_SOURCES[identity.kind], ...(expiresAtMs === undefined ? {} : { expiresAtMs }) }
}

/** The field `se` of a SAS token, in ms since the epoch; undefined when it has none, or the service stores the expiry. */
function sasExpiry(token: string): number | undefined {
  const time = Date.parse(new URLSearchParams(token).get('se') ?? '')
  return Number.isNaN(time) ? undefined : time
}
