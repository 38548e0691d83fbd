import { IcebergError } from '../../errors.ts'
import type { IoAttempt } from '../io-error.ts'

const SESSION_GONE = 'uploadGone'

/** A response that is not good, with texts of the response that are safe to show. */
export class GoogleError extends Error {
  override readonly name = 'GoogleError'
  readonly status: number
  /** The reason that Google states, such as `notFound`, or an empty text. */
  readonly reason: string
  /** The permission that the identity lacks, such as `storage.objects.get`. */
  readonly permission: string | undefined
  /** True if the bucket of the request does not exist. */
  readonly isBucketMissing: boolean

  constructor(
    status: number,
    reason: string,
    more: { permission?: string | undefined; isBucketMissing?: boolean } = {},
  ) {
    super(`the object store answered ${status} ${reason}`.trimEnd())
    this.status = status
    this.reason = reason
    this.permission = more.permission
    this.isBucketMissing = more.isBucketMissing ?? false
  }
}

/** The error that a response describes (Cloud Storage JSON API, "HTTP status and error codes"). */
export function refusalError(status: number, body: Uint8Array): GoogleError {
  const text = new TextDecoder().decode(body.subarray(0, 100_000))
  const { reason, message } = errorIn(text)
  const permission = /Permission '(storage\.[A-Za-z.]{1,60})'/.exec(message)?.[1]
  const isBucketMissing = status === 404 && /^The specified bucket does not exist/i.test(message)
  return new GoogleError(status, /^\w{1,60}$/.test(reason) ? reason : '', { permission, isBucketMissing })
}

/** Media downloads state their errors as plain text, other requests as JSON. */
function errorIn(text: string): { readonly reason: string; readonly message: string } {
  try {
    const error = field(JSON.parse(text), 'error')
    const errors = field(error, 'errors')
    const reason = Array.isArray(errors) ? field(errors[0], 'reason') : undefined
    const message = field(error, 'message')
    return {
      reason: typeof reason === 'string' ? reason : '',
      message: typeof message === 'string' ? message : '',
    }
  } catch {
    return { reason: '', message: text.trim() }
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/**
 * Turns the error of a request to Google into an `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`, `NO_SPACE`, or `IO_FAILED`
 * with a message that says what to correct. Returns an `IcebergError` unchanged.
 */
export function toGoogleError(error: unknown, { action, location }: IoAttempt): IcebergError {
  if (error instanceof IcebergError) return error
  const options = { cause: withoutRequest(error) }
  if (isTaken(error)) return new IcebergError('FILE_EXISTS', `The file ${location} already exists.`, options)
  if (statusOf(error) === 507) {
    return new IcebergError('NO_SPACE', `No space is left to write ${location}; free some and try again.`, options)
  }
  const isMissing = statusOf(error) === 404
  if (
    isMissing &&
    (action === 'write' || action === 'list' || (error instanceof GoogleError && error.isBucketMissing))
  ) {
    const message = `Could not ${action} ${location}: there is no such bucket; check the location.`
    return new IcebergError('IO_FAILED', message, options)
  }
  if (isMissing) return new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`, options)
  return new IcebergError('IO_FAILED', `Could not ${action} ${location}: ${reasonOf(error)}.`, options)
}

/** The HTTP status of a response; undefined if there was none. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof GoogleError ? error.status : undefined
}

/** True if an object with this name exists. */
export function isTaken(error: unknown): boolean {
  return statusOf(error) === 412
}

/** The error of a request to an upload that expired, or that was discarded. */
export function sessionError(): GoogleError {
  return new GoogleError(410, SESSION_GONE)
}

/** True for {@link sessionError}. */
export function isSessionGone(error: unknown): boolean {
  return error instanceof GoogleError && error.reason === SESSION_GONE
}

/** True if another token may help. */
export function mayNeedToken(error: unknown): boolean {
  return statusOf(error) === 401
}

/** True if the same request may succeed when it is sent again: no response, a busy server, a rate limit, or a cut response. */
export function isTransient(error: unknown): boolean {
  if (error instanceof IcebergError) return false
  if (!(error instanceof GoogleError)) return true
  const { status, reason } = error
  if (status === 403) return /^(user)?rateLimitExceeded$/i.test(reason)
  return (
    status < 300 ||
    status === 308 ||
    status === 408 ||
    status === 429 ||
    (status >= 500 && status !== 501 && status !== 507)
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof GoogleError)) return networkReason(error)
  const { status, reason, permission } = error
  if (status === 401) {
    const advice = 'replace gcs.oauth2.token, or check the application default credentials and the clock'
    return `the token is missing, unknown or expired; ${advice}`
  }
  if (status === 403) {
    const lacking = permission === undefined ? 'needs' : `lacks ${permission}, and needs`
    const advice = `the identity ${lacking} the role Storage Object User for the bucket`
    return `${reason || status}; check the credentials and their permissions: ${advice}`
  }
  if (status === 400 && reason === 'required') return 'the requester pays for this bucket; set gcs.user-project'
  if (reason === SESSION_GONE) return 'the object store no longer has the upload; try again'
  if (status < 400) return `${error.message}; check gcs.service.host`
  return error.message
}

function networkReason(error: unknown): string {
  if (codeOf(error) === 'ENOTFOUND') return 'the host of the object store is unknown; check gcs.service.host'
  return 'the object store does not respond; check gcs.service.host and the network'
}

function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code
  }
  return ''
}

/**
 * A copy of an error with its name, message and code only. Errors of `fetch` may have the address of the request, whose query
 * has the key of an upload.
 */
function withoutRequest(error: unknown): unknown {
  if (error instanceof GoogleError || !(error instanceof Error)) return error
  const copy = new Error(error.message.replaceAll(/\?[^\s"']+/g, '?***'))
  copy.name = error.name
  const code = codeOf(error)
  return code === '' ? copy : Object.assign(copy, { code })
}
