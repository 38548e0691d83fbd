import { IcebergError } from '../../errors.ts'
import type { IoAttempt } from '../io-error.ts'

const NO_CREDENTIALS: ReadonlySet<string> = new Set([
  'CredentialUnavailableError',
  'AggregateAuthenticationError',
  'AuthenticationRequiredError',
])
const REFUSED_IDENTITY = 'AuthenticationError'
/** Codes of an account that has no room, or of one whose limit is reached. */
const FULL: ReadonlySet<string> = new Set(['InsufficientStorage', 'AccountLimitExceeded'])

/**
 * Turns the error of a request to Azure into an `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`, `NO_SPACE`, or `IO_FAILED`
 * with a message that says what to correct. Returns an `IcebergError` unchanged.
 */
export function toAzureError(error: unknown, { action, location }: IoAttempt): IcebergError {
  if (error instanceof IcebergError) return error
  const options = { cause: withoutRequest(error) }
  const code = codeOf(error)
  if (isTaken(error)) return new IcebergError('FILE_EXISTS', `The file ${location} already exists.`, options)
  if (FULL.has(code) || statusOf(error) === 507) {
    return new IcebergError('NO_SPACE', `No space is left to write ${location}; free some and try again.`, options)
  }
  if (statusOf(error) === 404 && !/^(Container|Filesystem|Account|Resource)/.test(code)) {
    return new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`, options)
  }
  return new IcebergError('IO_FAILED', `Could not ${action} ${location}: ${reasonOf(error)}.`, options)
}

/** True if a blob with this name exists, or the blocks of an upload were used or discarded. */
export function isTaken(error: unknown): boolean {
  const status = statusOf(error)
  const code = codeOf(error)
  return status === 412 || (status === 409 && /^(Blob|Path)AlreadyExists$/.test(code))
}

/** True if the blocks of an upload are no longer there: a repeated request, or another writer, used or discarded them. */
export function areBlocksGone(error: unknown): boolean {
  return codeOf(error) === 'InvalidBlockList'
}

/** True if the same request may succeed when it is sent again: no response, a busy server, or a cut response. */
export function isTransient(error: unknown): boolean {
  if (error instanceof IcebergError || isIdentityError(error)) return false
  const status = statusOf(error)
  if (status === undefined) return true
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 507) || isCut(error)
}

/** The HTTP status in an error of the SDK; undefined if there was no response. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined
}

/** A good status whose body is not complete. */
function isCut(error: unknown): boolean {
  const status = statusOf(error) ?? 0
  return status >= 200 && status < 300
}

function isIdentityError(error: unknown): boolean {
  return error instanceof Error && (NO_CREDENTIALS.has(error.name) || error.name === REFUSED_IDENTITY)
}

/** The code of Azure, such as `BlobNotFound`. A HEAD response has it only in a header. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const header = 'response' in error ? headerOf(error.response, 'x-ms-error-code') : undefined
  return header ?? ('code' in error && typeof error.code === 'string' ? error.code : '')
}

function headerOf(response: unknown, name: string): string | undefined {
  if (typeof response !== 'object' || response === null || !('headers' in response)) return undefined
  const { headers } = response
  if (typeof headers !== 'object' || headers === null || !('get' in headers)) return undefined
  const value: unknown = typeof headers.get === 'function' ? headers.get(name) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

function reasonOf(error: unknown): string {
  const status = statusOf(error)
  const code = codeOf(error)
  if (isIdentityError(error)) return identityReason(error)
  if (/^(Container|Filesystem)NotFound$/.test(code)) return 'there is no such container; check the location'
  if (code === 'AuthenticationFailed' || code === 'InvalidAuthenticationInfo') return authenticationReason(error)
  if (status === 401 || status === 403) {
    const role = 'the identity needs the role Storage Blob Data Contributor, and a SAS token the permissions racwdl'
    return `${code || status}; check the credentials and their permissions: ${role}`
  }
  if (status !== undefined) return `the object store answered ${status} ${code}`.trimEnd()
  if (code === 'ENOTFOUND') return 'there is no such account; check the location and adls.endpoint'
  return 'the object store does not respond; check the location, adls.endpoint and the network'
}

function identityReason(error: unknown): string {
  if (error instanceof Error && error.name === REFUSED_IDENTITY) {
    return 'the credentials were refused; check adls.tenant-id, adls.client-id and adls.client-secret'
  }
  return (
    'there are no credentials; set adls.auth.shared-key.account.name and adls.auth.shared-key.account.key, ' +
    'adls.sas-token.<account>, or the Azure environment variables, or give the machine a managed identity'
  )
}

function authenticationReason(error: unknown): string {
  const detail = bodyOf(error)
  if (/date header/i.test(detail)) {
    return `the clock of this machine is wrong: it has ${new Date().toISOString()}; correct it`
  }
  if (/time frame|expir/i.test(detail))
    return 'the SAS token is expired or not valid yet; replace adls.sas-token.<account>'
  return 'the account key or the token is wrong; check adls.auth.shared-key.account.key and adls.sas-token.<account>'
}

function bodyOf(error: unknown): string {
  if (!(error instanceof Error) || !('response' in error)) return ''
  const { response } = error
  if (typeof response !== 'object' || response === null || !('bodyAsText' in response)) return ''
  return typeof response.bodyAsText === 'string' ? response.bodyAsText : ''
}

/**
 * A copy of an error of the SDK with its name, message, code and status only. Its request has the SAS token in the address,
 * which would reach logs.
 */
function withoutRequest(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = codeOf(error)
  const copy = new Error((error.message.split('\n')[0] ?? '').replaceAll(/sig=[^&\s"']+/gi, 'sig=***'))
  copy.name = error.name
  const statusCode = statusOf(error)
  return Object.assign(copy, code === '' ? {} : { code }, statusCode === undefined ? {} : { statusCode })
}
