import { ClusterError, type ClusterErrorCode } from '../cluster-error.ts'

const BY_STATUS: Readonly<Record<number, ClusterErrorCode>> = {
  400: 'invalid',
  401: 'unavailable',
  403: 'forbidden',
  404: 'invalid', // missing objects are handled before: the namespace or the resource type does not exist
  405: 'invalid',
  408: 'timeout',
  410: 'expired',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  504: 'timeout',
}

/** Converts any error of the client to a {@link ClusterError}. */
export function toClusterError(error: unknown): ClusterError {
  if (error instanceof ClusterError) return error
  const status = statusOf(error)
  if (status !== undefined) return new ClusterError(codeOf(status, error), messageOf(status, error), { cause: error })
  const name = error instanceof Error ? error.name : ''
  if (name === 'AbortError' || name === 'TimeoutError') {
    return new ClusterError('timeout', 'the cluster did not respond in time', { cause: error })
  }
  const message = isFileError(error)
    ? 'the credentials for the cluster cannot be read'
    : 'the cluster cannot be reached'
  return new ClusterError('unavailable', message, { cause: error })
}

/** Whether a credential file could not be read: the client reads these files again for each call. */
function isFileError(error: unknown): boolean {
  const syscall = property(error, 'syscall')
  return syscall === 'open' || syscall === 'read'
}

/** The HTTP status in an error of the client; undefined when there was no response. */
export function statusOf(error: unknown): number | undefined {
  const status = property(error, 'code') ?? property(error, 'statusCode')
  return typeof status === 'number' && status >= 300 && status < 600 ? status : undefined
}

function codeOf(status: number, error: unknown): ClusterErrorCode {
  if (status === 409) return reasonOf(error) === 'AlreadyExists' ? 'exists' : 'unavailable'
  return BY_STATUS[status] ?? 'unavailable'
}

/** The `reason` of the `Status` object that came with the error, such as `AlreadyExists`. */
export function reasonOf(error: unknown): string | undefined {
  const reason = property(bodyOf(error), 'reason')
  return typeof reason === 'string' ? reason : undefined
}

function messageOf(status: number, error: unknown): string {
  const message = property(bodyOf(error), 'message')
  if (status === 401) return 'the cluster rejects the credentials of this service'
  return typeof message === 'string' && message !== '' ? message : `the cluster responded with status ${status}`
}

/** The parsed body of an error: for unexpected statuses the client leaves it as text. */
function bodyOf(error: unknown): unknown {
  const body = property(error, 'body')
  if (typeof body !== 'string') return body
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined
}
