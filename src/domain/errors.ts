/** Closed list of what the service refuses, apart from the codes of the table format (`IcebergErrorCode`). */
export type DomainErrorCode =
  | 'INVALID_REQUEST' // malformed, wrong type, missing or unknown field
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'PLAN_STALE' // the table moved since the plan was made
  | 'UNPROCESSABLE'
  | 'CATALOG_NOT_CONFIGURED'
  | 'SHUTTING_DOWN'
  | 'PRECONDITION_FAILED' // it is not in the version that the caller has read
  | 'RATE_LIMITED'
  | 'IDENTITY_UNAVAILABLE' // the token issuer does not answer

/** Where in a request something is wrong; `path` is the field, dotted. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

interface DomainErrorOptions {
  readonly cause?: unknown
  readonly fields?: readonly FieldError[]
  readonly retryAfterS?: number
}

/** A refusal of the service; `code` is stable, `message` is for people. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: DomainErrorCode
  readonly fields: readonly FieldError[]
  /** Seconds after which the same request may succeed. */
  readonly retryAfterS: number | undefined

  constructor(code: DomainErrorCode, message: string, options?: DomainErrorOptions) {
    super(message, options)
    this.code = code
    this.fields = options?.fields ?? []
    this.retryAfterS = options?.retryAfterS
  }
}
