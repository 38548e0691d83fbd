import { IcebergError } from '../../iceberg/errors.ts'
import { type CatalogSettings, propertyReader, type ReadProperty } from '../settings.ts'
import { type RestSigning, restSigning } from './signing.ts'

/** How an Iceberg REST catalog is reached; `env:NAME` values are already resolved. */
export interface RestSettings {
  readonly name: string
  /** Sent unchanged: a folder, or the server's name for a warehouse. */
  readonly warehouse: string
  /** Without a trailing slash; `/v1/…` is appended. */
  readonly uri: string
  readonly auth: RestAuthSettings
  /** Requests are signed for AWS. */
  readonly signing?: RestSigning
  /** Address, region and path style of the object store, for tables that the catalog lends credentials for. */
  readonly store: Readonly<Record<string, string>>
  /** Sent with every request to the catalog (`header.*`). */
  readonly headers: Readonly<Record<string, string>>
}

/** How we authenticate with the catalog; without token and credential, no authentication is sent. */
export interface RestAuthSettings {
  /** A bearer token. */
  readonly token?: string
  /** OAuth2 client credentials, used to request tokens. */
  readonly credential?: {
    readonly clientId?: string
    readonly clientSecret: string
    readonly scope: string
    readonly tokenUri: string
  }
}

/** Extra properties, with the names that other Iceberg clients use. */
const TOKEN = 'token'
const CREDENTIAL = 'credential'
const SCOPE = 'scope'
const TOKEN_URI = 'oauth2-server-uri'
const HEADER = 'header.'

/** How to reach Google Cloud Storage, without credentials. */
const GOOGLE_STORE = ['gcs.service.host', 'gcs.endpoint', 'gcs.user-project']

const DEFAULT_SCOPE = 'catalog'

/** Valid header values (RFC 9110, section 5.5), checked here so that no client error quotes a secret. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that belong to the protocol. */
const RESERVED_HEADER =
  /^(authorization|original-authorization|x-amz-.*|host|connection|content-.*|transfer-encoding|if-.*|accept|accept-encoding)$/i

/** The settings of a `rest` catalog. Throws `INVALID_ARGUMENT` naming the field, never its value. */
export function restSettings(
  settings: CatalogSettings,
  readSecret: (name: string) => string | undefined,
): RestSettings {
  const property = propertyReader(settings, readSecret)
  const uri = checkUri(settings.uri ?? '', 'uri')
  const token = property(TOKEN)
  const credential = property(CREDENTIAL)
  const signing = restSigning(property)
  if (token !== undefined && !isToken(token)) throw refused(TOKEN, 'contains characters that are invalid in a token')
  return {
    name: settings.catalogName,
    warehouse: settings.warehouse,
    uri,
    auth: {
      ...(token === undefined ? {} : { token }),
      ...(credential === undefined ? {} : { credential: credentialOf(credential, property, uri) }),
    },
    ...(signing === undefined ? {} : { signing }),
    store: storeProperties(property),
    headers: headersOf(Object.keys(settings.extraProps), property),
  }
}

/** Header values may be secrets; shorter ones are not redacted because they would match in any text. */
const MIN_SECRET_HEADER = 8

/** Every value that must never be shown. */
export function secretsOf({ auth: { token, credential }, headers }: RestSettings): readonly string[] {
  const keys = Object.values(headers).filter((value) => value.length >= MIN_SECRET_HEADER)
  return [token, credential?.clientSecret, ...keys].filter((secret) => secret !== undefined)
}

/** Whether a text can be sent as a bearer token (RFC 6750, section 2.1, and any other valid header character). */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

function credentialOf(credential: string, property: ReadProperty, uri: string) {
  const colon = credential.indexOf(':')
  const clientSecret = credential.slice(colon + 1)
  if (clientSecret === '') throw refused(CREDENTIAL, 'must be <client id>:<client secret>')
  const tokenUri = property(TOKEN_URI)
  return {
    ...(colon < 0 ? {} : { clientId: credential.slice(0, colon) }),
    clientSecret,
    scope: property(SCOPE) ?? DEFAULT_SCOPE,
    tokenUri: tokenUri === undefined ? `${uri}/v1/oauth/tokens` : checkUri(tokenUri, `extra_props.${TOKEN_URI}`),
  }
}

function headersOf(keys: readonly string[], property: ReadProperty): Record<string, string> {
  const headers = keys.filter((key) => key.startsWith(HEADER))
  return Object.fromEntries(
    headers.map((key) => {
      const value = property(key) ?? ''
      const name = key.slice(HEADER.length)
      if (!HEADER_NAME.test(name)) throw refused(key, 'is not a valid header name')
      if (RESERVED_HEADER.test(name)) throw refused(key, 'is set by the protocol')
      if (!HEADER_VALUE.test(value)) throw refused(key, 'contains characters that are invalid in a header')
      return [name, value]
    }),
  )
}

function storeProperties(property: ReadProperty): Record<string, string> {
  const keys = ['s3.endpoint', 's3.region', 'client.region', 's3.path-style-access', ...GOOGLE_STORE]
  return Object.fromEntries(keys.flatMap((key) => (property(key) === undefined ? [] : [[key, property(key) ?? '']])))
}

function checkUri(text: string, field: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new IcebergError('INVALID_ARGUMENT', `${field} must be the http:// or https:// address of a REST catalog`)
  }
  if (url.username !== '' || url.password !== '') {
    const advice = 'use extra_props.token or extra_props.credential'
    throw new IcebergError('INVALID_ARGUMENT', `${field} must not contain a user or a password: ${advice}`)
  }
  if (url.search !== '' || url.hash !== '') {
    throw new IcebergError('INVALID_ARGUMENT', `${field} must not have a query or a fragment`)
  }
  return url.href.replace(/\/+$/, '')
}

function refused(key: string, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `extra_props.${key}: ${why}`)
}
