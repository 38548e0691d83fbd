import { IcebergError, isIcebergError } from '../errors.ts'

/** What was being done to a location when an operating-system call failed. */
export interface IoAttempt {
  readonly action: 'read' | 'write' | 'list' | 'delete' | 'look up'
  readonly location: string
}

/**
 * Turns an operating-system error into an `IcebergError`: `FILE_NOT_FOUND`, `FILE_EXISTS`, `NO_SPACE`,
 * or `IO_FAILED` with a message that says what to do. Returns an `IcebergError` unchanged.
 */
export function toIoError(error: unknown, { action, location }: IoAttempt): IcebergError {
  if (error instanceof IcebergError) return error
  const options = { cause: error }
  switch (errnoCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new IcebergError('FILE_NOT_FOUND', `There is no file ${location}.`, options)
    case 'EEXIST':
      return new IcebergError('FILE_EXISTS', `The file ${location} already exists.`, options)
    case 'ENOSPC':
    case 'EDQUOT':
      return new IcebergError('NO_SPACE', `No space is left to write ${location}; free some and try again.`, options)
    default:
      return new IcebergError('IO_FAILED', `Could not ${action} ${location}: ${reasonOf(error)}.`, options)
  }
}

/** The result of an operating-system call, with its errors converted by {@link toIoError}. */
export async function attempt<T>(what: IoAttempt, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toIoError(error, what)
  }
}

/** Errors of network file systems and object stores after which a request may still be applied, or was. */
const LATE_ERRORS: readonly string[] = ['EEXIST', 'EIO', 'ESTALE', 'ETIMEDOUT', 'ECONNRESET', 'EPIPE', 'EINTR']

/**
 * Whether a write that failed with `error` may have taken effect, or may still do so. False for a full disk, missing
 * permissions and the like, which stop a write before its effect.
 */
export function mayTakeEffect(error: unknown): boolean {
  if (isIcebergError(error, 'NO_SPACE') || isIcebergError(error, 'INVALID_ARGUMENT')) return false
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError' || LATE_ERRORS.includes(errnoCode(cause) ?? '')) return true
    if (isUnclearAnswer(cause)) return true
  }
  return false
}

/** Whether an error of an AWS client is an answer that leaves open what became of the request. */
function isUnclearAnswer(error: Error): boolean {
  if (!('$metadata' in error) || typeof error.$metadata !== 'object' || error.$metadata === null) return false
  const status = 'httpStatusCode' in error.$metadata ? error.$metadata.httpStatusCode : undefined
  return typeof status === 'number' && (status >= 500 || status === 412) && status !== 507
}

/** The `code` of a Node-style system error (`ENOENT`, …), or undefined. */
export function errnoCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

function reasonOf(error: unknown): string {
  switch (errnoCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'permission denied; check the owner and mode of the file and its folder'
    case 'EROFS':
      return 'the file system is read-only'
    case 'EISDIR':
      return 'it is a folder, not a file'
    case 'EMFILE':
    case 'ENFILE':
      return 'too many open files'
    case 'ENAMETOOLONG':
      return 'the name is too long'
    default:
      return error instanceof Error ? error.message : String(error)
  }
}
