import { IcebergError } from '../iceberg/errors.ts'
import { type CatalogSettings, propertyReader, type ReadProperty } from './catalog-settings.ts'

/** How an Iceberg REST catalog is reached; values of `env:NAME` are those of the environment by now. */
export interface RestSettings {
  readonly name: string
  /** Sent as it is: a folder, or the name that the server has for a warehouse. */
  readonly warehouse: string
  /** Without a slash at its end; `/v1/…` follows. */
  readonly uri: string
  readonly auth: RestAuthSettings
  /** Sent with every request to the catalog (`header.*`). */
  readonly headers: Readonly<Record<string, string>>
}

/** Who the catalog is told that we are; without token and credential no credential is sent. */
export interface RestAuthSettings {
  /** A bearer token. */
  readonly token?: string
  /** OAuth2 client credentials: tokens are asked for with it. */
  readonly credential?: {
    readonly clientId?: string
    readonly clientSecret: string
    readonly scope: string
    readonly tokenUri: string
  }
}

/** Extra properties, by the names that other Iceberg clients have for them. */
const TOKEN = 'token'
const CREDENTIAL = 'credential'
const SCOPE = 'scope'
const TOKEN_URI = 'oauth2-server-uri'
const HEADER = 'header.'

const DEFAULT_SCOPE = 'catalog'

/** What a header may hold (RFC 9110, section 5.5), so that no client has to say so, quoting a secret. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that belong to the protocol. */
const RESERVED_HEADER = /^(authorization|host|connection|content-.*|transfer-encoding|if-.*|accept|accept-encoding)$/i

/** The settings of a `rest` catalog. Throws `INVALID_ARGUMENT` naming the field, never its value. */
export function restSettings(
  settings: CatalogSettings,
  readSecret: (name: string) => string | undefined,
): RestSettings {
  const property = propertyReader(settings, readSecret)
  const uri = checkUri(settings.uri ?? '', 'uri')
  const token = property(TOKEN)
  const credential = property(CREDENTIAL)
  if (token !== undefined && !isToken(token)) throw refused(TOKEN, 'holds characters that no token has')
  return {
    name: settings.catalogName,
    warehouse: settings.warehouse,
    uri,
    auth: {
      ...(token === undefined ? {} : { token }),
      ...(credential === undefined ? {} : { credential: credentialOf(credential, property, uri) }),
    },
    headers: headersOf(Object.keys(settings.extraProps), property),
  }
}

/** Headers may carry keys; shorter ones say nothing, and would be found in every text. */
const MIN_SECRET_HEADER = 8

/** Every value that must not be shown to anybody. */
export function secretsOf({ auth: { token, credential }, headers }: RestSettings): readonly string[] {
  const keys = Object.values(headers).filter((value) => value.length >= MIN_SECRET_HEADER)
  return [token, credential?.clientSecret, ...keys].filter((secret) => secret !== undefined)
}

/** Whether a text can be sent as a bearer token (RFC 6750, section 2.1, and whatever else a header can hold). */
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
      if (!HEADER_NAME.test(name)) throw refused(key, 'is no name of a header')
      if (RESERVED_HEADER.test(name)) throw refused(key, 'is set by the protocol')
      if (!HEADER_VALUE.test(value)) throw refused(key, 'holds characters that no header has')
      return [name, value]
    }),
  )
}

function checkUri(text: string, field: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new IcebergError('INVALID_ARGUMENT', `${field} must be the http:// or https:// address of a REST catalog`)
  }
  if (url.username !== '' || url.password !== '') {
    const advice = 'use extra_props.token or extra_props.credential'
    throw new IcebergError('INVALID_ARGUMENT', `${field} must not hold a user or a password: ${advice}`)
  }
  if (url.search !== '' || url.hash !== '') {
    throw new IcebergError('INVALID_ARGUMENT', `${field} must not have a query or a fragment`)
  }
  return url.href.replace(/\/+$/, '')
}

function refused(key: string, why: string): IcebergError {
  return new IcebergError('INVALID_ARGUMENT', `extra_props.${key}: ${why}`)
}
