import { Code, ConnectError } from '@connectrpc/connect'
import { readErrorInfo, type SparkErrorInfo } from './fault-kind.ts'
import type { SessionContext } from './session-context.ts'
import { SparkError, type SparkErrorCode } from '../spark-error.ts'

const LOST = new Set(['SESSION_NOT_FOUND', 'SESSION_CHANGED', 'SESSION_CLOSED'].map((name) => `INVALID_HANDLE.${name}`))
const COMMIT_UNKNOWN = 'org.apache.iceberg.exceptions.CommitStateUnknownException'
/** Spark found no thread for the operation that somebody attached to: the thread may have ended, or not have begun. */
const ORPHANED = /^Operation was orphaned/
const DETAILS_MS = 5000

const REFUSALS = new Set<SparkErrorCode>(['UNAUTHENTICATED', 'UNSUPPORTED_VERSION', 'SESSION_LOST'])
const CODES = new Map<Code, SparkErrorCode>([
  [Code.Unauthenticated, 'UNAUTHENTICATED'],
  [Code.PermissionDenied, 'UNAUTHENTICATED'],
  [Code.Unimplemented, 'UNSUPPORTED_VERSION'],
  [Code.Unavailable, 'UNREACHABLE'],
  [Code.Aborted, 'UNREACHABLE'],
  [Code.DeadlineExceeded, 'UNREACHABLE'],
  [Code.Canceled, 'UNREACHABLE'],
])

/** How often an operation was sent to Spark; a call that may be repeated counts as never sent. */
export type Sent = 'never' | 'once' | 'again'

/** A fault of a call as a `SparkError`; asks Spark for the details that it keeps. */
export async function describeError(
  fault: unknown,
  session: SessionContext,
  sent: Sent = 'never',
): Promise<SparkError> {
  if (fault instanceof SparkError) return sent === 'never' ? fault : fault.with({ isOutcomeUnknown: true })
  const error = ConnectError.from(fault)
  const info = readErrorInfo(error)
  const code = codeOf(error, info)
  if (!info.isSpark) return undescribed(error, { code, session, sent })
  const details = code === 'SESSION_LOST' ? undefined : await fetchDetails(info, session)
  const { message, javaClasses, ...known } = { message: error.rawMessage, ...info, ...details }
  return new SparkError(code, message, {
    ...known,
    cause: fault,
    javaClasses,
    isOutcomeUnknown:
      !isRefusal(code, sent) &&
      (isHandleOrCursor(info) || ORPHANED.test(message) || javaClasses.includes(COMMIT_UNKNOWN)),
  })
}

function codeOf(error: ConnectError, { errorClass, isSpark }: SparkErrorInfo): SparkErrorCode {
  if (!isSpark) return CODES.get(error.code) ?? undescribedCode(error)
  if (errorClass === undefined) return 'OPERATION_FAILED'
  if (LOST.has(errorClass)) return 'SESSION_LOST'
  return errorClass === 'OPERATION_CANCELED' ? 'CANCELLED' : 'OPERATION_FAILED'
}

function undescribed(
  error: ConnectError,
  { code, session, sent }: { code: SparkErrorCode; session: SessionContext; sent: Sent },
): SparkError {
  return new SparkError(code, `Spark at ${session.address}: ${error.rawMessage}`, {
    cause: error,
    isOutcomeUnknown: !isRefusal(code, sent),
  })
}

/** A fault that Node.js reports is one of the connection (TLS, a reset); others of this side are about what came. */
function undescribedCode(error: ConnectError): SparkErrorCode {
  if (error.isWireError) return 'OPERATION_FAILED'
  return error.cause instanceof Error && 'code' in error.cause ? 'UNREACHABLE' : 'PROTOCOL'
}

/** Whether the operation cannot have run: what refuses its first request does so before it runs. */
function isRefusal(code: SparkErrorCode, sent: Sent): boolean {
  return sent === 'never' || (sent === 'once' && REFUSALS.has(code))
}

/** The operation or its answers are gone, but it may have run. */
function isHandleOrCursor({ errorClass = '' }: SparkErrorInfo): boolean {
  return /^(?:INVALID_HANDLE|INVALID_CURSOR|OPERATION_CANCELED)/.test(errorClass)
}

/** Undefined when Spark does not have them or does not answer: the error itself says enough to go on. */
async function fetchDetails({ errorId }: SparkErrorInfo, session: SessionContext) {
  if (errorId === undefined) return undefined
  const { calls } = session.connection
  const found = await calls
    .fetchErrorDetails({ ...session.fields(), errorId }, { timeoutMs: DETAILS_MS })
    .catch(() => undefined)
  const root = found?.errors[found.rootErrorIdx ?? -1]
  if (found === undefined || root === undefined) return undefined
  return {
    ...(root.message !== '' && { message: root.message }),
    ...(root.sparkThrowable?.errorClass !== undefined && { errorClass: root.sparkThrowable.errorClass }),
    ...(root.sparkThrowable?.sqlState !== undefined && { sqlState: root.sparkThrowable.sqlState }),
    javaClasses: found.errors.flatMap((one) => one.errorTypeHierarchy),
  }
}
