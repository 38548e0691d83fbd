import type { GoogleSettings } from '../../iceberg/io/google/client.ts'
import { defaultTokens, fixedToken } from '../../iceberg/io/google/sources.ts'
import type { ReadProperty } from '../settings.ts'
import { addressAt, bearerTokenAt, invalidProperty } from './store-properties.ts'

/** Google Cloud Storage as properties, with the names of Iceberg's Java and PyIceberg; the second endpoint is an older name. */
export const GCS_KEYS = {
  endpoint: ['gcs.service.host', 'gcs.endpoint'],
  token: 'gcs.oauth2.token',
  expiresAtMs: 'gcs.oauth2.token-expires-at',
  noAuth: 'gcs.no-auth',
  userProject: 'gcs.user-project',
} as const

const DEFAULT_ENDPOINT = 'https://storage.googleapis.com'
const THIS_MACHINE = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * The store that the properties `gcs.…` describe: without a token and `gcs.no-auth`, with the application default credentials.
 * Throws `INVALID_ARGUMENT` naming an invalid property, never its value.
 */
export function googleSettings(property: ReadProperty): GoogleSettings {
  const credentials = tokenSource(property)
  const endpoint = endpointOf(property)
  const userProject = property(GCS_KEYS.userProject)
  if (userProject !== undefined && !/^[\w.:-]{1,100}$/.test(userProject)) {
    throw invalidProperty(GCS_KEYS.userProject, 'must be the id of a project')
  }
  if (credentials !== undefined && endpoint.startsWith('http:') && !THIS_MACHINE.test(endpoint)) {
    throw invalidProperty(GCS_KEYS.endpoint[0], `must begin with https: unless ${GCS_KEYS.noAuth} is true`)
  }
  return { endpoint, credentials, ...(userProject === undefined ? {} : { userProject }) }
}

function endpointOf(property: ReadProperty): string {
  for (const key of GCS_KEYS.endpoint) {
    const address = addressAt(property, key, { example: DEFAULT_ENDPOINT })
    if (address !== undefined) return address.replace(/^HTTP/i, (scheme) => scheme.toLowerCase())
  }
  return DEFAULT_ENDPOINT
}

function tokenSource(property: ReadProperty): GoogleSettings['credentials'] {
  const token = bearerTokenAt(property, GCS_KEYS.token)
  const expiresAt = property(GCS_KEYS.expiresAtMs)
  const noAuth = property(GCS_KEYS.noAuth)
  if (noAuth !== undefined && noAuth !== 'true' && noAuth !== 'false') {
    throw invalidProperty(GCS_KEYS.noAuth, 'must be true or false')
  }
  if (noAuth === 'true') {
    if (token === undefined) return undefined
    throw invalidProperty(GCS_KEYS.noAuth, `must not be true if ${GCS_KEYS.token} is set`)
  }
  if (expiresAt !== undefined && !/^\d{1,15}$/.test(expiresAt)) {
    throw invalidProperty(GCS_KEYS.expiresAtMs, 'must be a time in milliseconds since 1970')
  }
  if (token === undefined) return defaultTokens()
  return fixedToken({ token, ...(expiresAt === undefined ? {} : { expiresAtMs: Number(expiresAt) }) })
}
