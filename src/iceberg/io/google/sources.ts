import { IcebergError } from '../../errors.ts'
import { type CredentialSource, fixedCredentials, renewedCredentials } from '../objects/credential-source.ts'
import type { GoogleToken } from './client.ts'

const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'
/** Only new buckets belong to a project; without one the library would search for it, with requests and a child process. */
const NO_PROJECT = 'none'
/** Errors of token services (RFC 6749, section 5.2, and RFC 8693). */
const OAUTH_ERROR = /\b(invalid_\w{1,40}|unauthorized_client|unsupported_grant_type|access_denied)\b/

/** A token that nothing renews. After its expiry it is refused before a request is sent. */
export function fixedToken(token: GoogleToken): CredentialSource<GoogleToken> {
  const { expiresAtMs } = token
  const source = fixedCredentials(token)
  if (expiresAtMs === undefined) return source
  return {
    ...source,
    async current() {
      if (Date.now() < expiresAtMs) return token
      const expired = `gcs.oauth2.token expired at ${new Date(expiresAtMs).toISOString()}`
      throw new IcebergError('IO_FAILED', `Could not authorize a request: ${expired}; replace it.`)
    },
  }
}

/**
 * Tokens of the application default credentials: the file that `GOOGLE_APPLICATION_CREDENTIALS` names (a key, a workload
 * identity federation, an impersonation), that of the gcloud tool, or the metadata server. The library is loaded, and
 * requests are sent, at first use.
 */
export function defaultTokens(): CredentialSource<GoogleToken> {
  return renewedCredentials(async () => {
    try {
      return await newToken()
    } catch (error) {
      throw new IcebergError('IO_FAILED', `Could not authorize a request: ${reasonOf(error)}.`, {
        cause: nameOf(error),
      })
    }
  })
}

/** The library would keep a token that the service has refused: a new client obtains a new one. */
async function newToken(): Promise<GoogleToken> {
  const { GoogleAuth } = await import('google-auth-library') // loaded only when needed
  const client = await new GoogleAuth({ scopes: [SCOPE], projectId: NO_PROJECT }).getClient()
  const { token } = await client.getAccessToken()
  if (typeof token !== 'string' || token === '') throw new Error('no token')
  const { credentials, quotaProjectId } = client
  return {
    token,
    ...(typeof credentials.expiry_date === 'number' ? { expiresAtMs: credentials.expiry_date } : {}),
    ...(quotaProjectId === undefined ? {} : { userProject: quotaProjectId }),
  }
}

/** Messages of the library may have parts of keys, and its errors the whole request: only known words are shown. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  if (/could not load the default credentials/i.test(message)) {
    return (
      'there are no credentials; set gcs.oauth2.token, or GOOGLE_APPLICATION_CREDENTIALS to a key file, ' +
      'or give the machine a service account'
    )
  }
  const refused = OAUTH_ERROR.exec(message)?.[1]
  const detail = refused === undefined ? '' : ` (${refused})`
  return `the application default credentials do not work${detail}; check GOOGLE_APPLICATION_CREDENTIALS, its file and the clock`
}

function nameOf(error: unknown): Error {
  const copy = new Error('the Google library failed')
  if (error instanceof Error) copy.name = error.name
  return copy
}
