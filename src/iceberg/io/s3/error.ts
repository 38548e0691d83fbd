import { IcebergError } from '../../errors.ts'
import { httpStatusOf, withoutDetails } from '../aws/error-details.ts'
import type { IoAttempt } from '../io-error.ts'

/**
 * Turns the error of a request to an object store into an `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`,
 * `NO_SPACE`, or `IO_FAILED` with a message that says what to do. Returns an `IcebergError` unchanged.
 */
export function toS3Error(error: unknown, { action, location }: IoAttempt): IcebergError {
  if (error instanceof IcebergError) return error
  const options = { cause: withoutDetails(error) }
  const name = error instanceof Error ? error.name : ''
  if (name === 'NoSuchBucket') {
    return new IcebergError('IO_FAILED', `Could not ${action} ${location}: there is no such bucket.`, options)
  }
  switch (statusOf(error)) {
    case 404:
      return new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`, options)
    case 412:
      return new IcebergError('FILE_EXISTS', `The file ${location} already exists.`, options)
    case 507:
      return new IcebergError('NO_SPACE', `No space is left to write ${location}; free some and try again.`, options)
    default:
      return new IcebergError('IO_FAILED', `Could not ${action} ${location}: ${reasonOf(error)}.`, options)
  }
}

/** The HTTP status that a server answered with, or undefined when there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return httpStatusOf(error)
}

const REFUSED_CREDENTIALS: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidToken',
  'TokenRefreshRequired',
  'InvalidAccessKeyId',
])

/**
 * True if other credentials may help: a store says that they are expired, revoked or unknown, or refuses a HEAD request,
 * whose response has no reason.
 */
export function mayNeedCredentials(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (REFUSED_CREDENTIALS.has(error.name)) return true
  const status = statusOf(error)
  return (status === 400 || status === 403) && isWithoutReason(error)
}

/** The SDK names such errors by itself. */
function isWithoutReason({ name }: Error): boolean {
  return /^(\d+|Error|BadRequest|Forbidden|Unknown\w*|S3ServiceException)$/.test(name)
}

/** Whether the same request may succeed if sent again: no response, a busy server, or concurrent requests. */
export function isTransient(error: unknown): boolean {
  if (error instanceof IcebergError) return false
  const status = statusOf(error)
  if (status === undefined) return true
  if (status === 409) return error instanceof Error && error.name === 'ConditionalRequestConflict'
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 507)
}

function reasonOf(error: unknown): string {
  const status = statusOf(error)
  const name = error instanceof Error ? error.name : ''
  if (name === 'RequestTimeTooSkewed') return `the clock of this machine is wrong${storeTime(error)}; correct it`
  if (REFUSED_CREDENTIALS.has(name))
    return `the credentials are unknown, expired or revoked (${name}); check the credentials`
  if (name === 'SignatureDoesNotMatch') return `${name}; check s3.secret-access-key and s3.region`
  if (status === 301 || status === 307 || name === 'AuthorizationHeaderMalformed') {
    return `the bucket is in another region${textOf(error, 'Region', ': ')}; set s3.region`
  }
  if (status === 401 || status === 403)
    return `${name === 'Unknown' ? status : name}; check the credentials and their permissions`
  if (status !== undefined) return `the object store answered ${status} ${name}`.trimEnd()
  return 'the object store does not respond; check s3.endpoint and the network'
}

function storeTime(error: unknown): string {
  const time = textOf(error, 'ServerTime', '')
  return time === '' ? '' : `: the store has ${time}, this machine ${new Date().toISOString()}`
}

/** A detail of an error response, if it is short and plain. */
function textOf(error: unknown, key: string, before: string): string {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined
  return typeof value === 'string' && /^[\w :.+-]{1,40}$/.test(value) ? before + value : ''
}
