import type { ErrorCode } from '../domain/error-codes.ts'
import { DomainError, type FieldError } from '../domain/errors.ts'
import { withoutPaths } from '../domain/without-paths.ts'
import { IcebergError } from '../iceberg/errors.ts'
import { stateProblem } from '../services/health/state-problem.ts'
import { MAX_ERRORS, type Problem } from '../schemas/common.ts'
import type { Logger } from '../services/logger.ts'
import type { Exchange } from './exchange.ts'
import { HttpError } from './http-error.ts'

/** The statuses of error responses. */
type ErrorStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 408
  | 409
  | 412
  | 413
  | 415
  | 422
  | 426
  | 429
  | 431
  | 500
  | 502
  | 503
  | 504

/** The status of every error code: the only mapping of codes to statuses (docs/api.md#errors). */
export const STATUS: Readonly<Record<ErrorCode, ErrorStatus>> = {
  INVALID_REQUEST: 400,
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  ALREADY_APPROVED: 409,
  SELF_APPROVAL: 403,
  NOT_FOUND: 404,
  NO_SUCH_NAMESPACE: 404,
  NO_SUCH_TABLE: 404,
  NO_SUCH_COLUMN: 404,
  NO_SUCH_SNAPSHOT: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PLAN_STALE: 409,
  PIPELINE_BEHIND: 409,
  NAMESPACE_EXISTS: 409,
  NAMESPACE_NOT_EMPTY: 409,
  TABLE_EXISTS: 409,
  TABLES_OVERLAP: 409,
  FILE_EXISTS: 409,
  COMMIT_CONFLICT: 409,
  CANCELLED: 409,
  MANAGED: 409,
  DEFINITION_LOCKED: 409,
  INVALID_TRANSITION: 409,
  APPROVAL_PENDING: 409,
  APPROVAL_NOT_PENDING: 409,
  CONTENT_CHANGED: 409,
  ACTION_NOT_PENDING: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNPROCESSABLE: 422,
  INVALID_METADATA: 422,
  CORRUPT_FILE: 422,
  UNSUPPORTED: 422,
  FILE_NOT_FOUND: 422,
  NOT_AN_ANCESTOR: 422,
  SCHEMA_CHANGE_REFUSED: 422,
  GC_DISABLED: 422,
  ROWS_NOT_CONSERVED: 422,
  INVALID_GRAPH: 422,
  UNSUPPORTED_FORMAT_VERSION: 422,
  LIMIT_EXCEEDED: 422,
  UPGRADE_REQUIRED: 426,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  NOTEBOOK_FAILED: 502,
  NOTEBOOK_NOT_READY: 503,
  NOTEBOOK_TIMEOUT: 504,
  MODEL_UNAVAILABLE: 502,
  NO_SPACE: 503,
  IO_FAILED: 503,
  ENGINE_FAILED: 503,
  ENGINE_BUSY: 503,
  CATALOG_NOT_CONFIGURED: 503,
  SHUTTING_DOWN: 503,
  IDENTITY_UNAVAILABLE: 503,
  STATE_UNAVAILABLE: 503,
  COMMIT_STATE_UNKNOWN: 503,
  MODEL_BUSY: 503,
  MODEL_TIMEOUT: 504,
  CLUSTER_UNAVAILABLE: 503,
  CLUSTER_REFUSED: 503,
  CLUSTER_TIMEOUT: 504,
}

const MAX_DETAIL_LENGTH = 4000
const MAX_PATH_LENGTH = 200
const MAX_MESSAGE_LENGTH = 1000

interface Refusal {
  readonly code: ErrorCode
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
  readonly fields?: readonly FieldError[]
  readonly allowed?: readonly string[] | undefined
}

/**
 * Converts any thrown value to a problem document (RFC 9457). Unexpected errors reveal no details, and messages with
 * local file paths are shortened; the log has the full error.
 */
export function createErrorHandler(log: Logger) {
  return function handleError(error: Error, exchange: Exchange): Response {
    const { requestId } = exchange
    const refusal = describe(error)
    if (refusal.code === 'INTERNAL' || refusal.code === 'STATE_UNAVAILABLE')
      log.error('request failed', { request_id: requestId, error })
    else if (refusal.detail !== error.message) log.warn('request refused', { request_id: requestId, error })
    else log.debug('request refused', { request_id: requestId, error })
    exchange.problemCode = refusal.code
    exchange.error = error
    return problemResponse(refusal, requestId)
  }
}

/** The status that an error is answered with, if no protocol has its own. */
export function statusOf(error: unknown): ErrorStatus {
  return error instanceof Error ? STATUS[describe(error).code] : 500
}

function describe(error: Error): Refusal {
  if (error instanceof HttpError) {
    return { code: error.code, detail: error.message, headers: error.headers }
  }
  if (error instanceof DomainError) {
    return { ...publicDetailOf(error), code: error.code, headers: headersOf(error), allowed: error.allowed }
  }
  const unavailable = stateProblem(error)
  if (unavailable !== undefined) return { ...unavailable, headers: { 'Retry-After': '5' } }
  if (error instanceof IcebergError) return { code: error.code, detail: withoutPaths(error.message) }
  return { code: 'INTERNAL', detail: 'unexpected error: see the service log for this request id' }
}

/** Messages from lower layers may contain local file paths. */
function publicDetailOf({ message, fields, cause }: DomainError): Pick<Refusal, 'detail' | 'fields'> {
  if (!(cause instanceof IcebergError)) return { detail: message, fields }
  return {
    detail: withoutPaths(message),
    fields: fields.map((field) => ({ ...field, message: withoutPaths(field.message) })),
  }
}

function headersOf({ code, retryAfterS }: DomainError): Record<string, string> {
  if (code === 'UNAUTHENTICATED') return { 'WWW-Authenticate': 'Bearer realm="lockhouse"' }
  return retryAfterS === undefined ? {} : { 'Retry-After': String(retryAfterS) }
}

/** The problem document of an error that cannot be a separate response, such as at the end of a stream. */
export function describeProblem(error: unknown, requestId: string): Problem {
  return toProblem(describe(error instanceof Error ? error : new Error('not an error', { cause: error })), requestId)
}

/** A problem document as a response. */
function problemResponse(refusal: Refusal, requestId: string): Response {
  const problem = toProblem(refusal, requestId)
  const headers = { ...refusal.headers, 'Content-Type': 'application/problem+json' }
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}

function toProblem(refusal: Refusal, requestId: string): Problem {
  return {
    type: `urn:lockhouse:error:${refusal.code.toLowerCase().replaceAll('_', '-')}`,
    title: title(refusal.code),
    status: STATUS[refusal.code],
    detail: cut(refusal.detail, MAX_DETAIL_LENGTH),
    code: refusal.code,
    success: false,
    request_id: requestId,
    ...listErrors(refusal.fields ?? []),
    ...(refusal.allowed ? { allowed: [...refusal.allowed] } : {}),
  }
}

/** The first errors and the number of the others, to keep the response small. */
function listErrors(fields: readonly FieldError[]): Pick<Problem, 'errors' | 'more_errors'> {
  if (fields.length === 0) return {}
  const errors = fields.slice(0, MAX_ERRORS).map(({ path, message }) => ({
    path: cut(path, MAX_PATH_LENGTH),
    message: cut(message, MAX_MESSAGE_LENGTH),
  }))
  return fields.length > MAX_ERRORS ? { errors, more_errors: fields.length - MAX_ERRORS } : { errors }
}

/** Text that may repeat the caller's input, cut to `maxLength` characters. */
function cut(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
}

function title(code: ErrorCode): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
