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
  | 'ENGINE_BUSY' // too many queries are waiting
  | 'IDENTITY_UNAVAILABLE' // the token issuer does not answer
  | 'INVALID_GRAPH' // nodes and edges that are no pipeline
  | 'UNSUPPORTED_FORMAT_VERSION' // a document of a newer system
  | 'DEFINITION_LOCKED' // the environments of its versions forbid the change
  | 'INVALID_TRANSITION' // there is no such move from where the version is
  | 'APPROVAL_PENDING' // the version waits for a decision
  | 'APPROVAL_NOT_PENDING' // it was decided before
  | 'SELF_APPROVAL' // the requester may not decide
  | 'CONTENT_CHANGED' // what is stored is not what approval was asked for
  | 'ACTION_NOT_PENDING' // what the agent proposed was decided before, or has expired
  | 'MODEL_UNAVAILABLE' // the model provider failed, or refused
  | 'MODEL_BUSY' // the model provider has no room for the request now
  | 'MODEL_TIMEOUT' // the model provider did not answer in time
  | 'CLUSTER_UNAVAILABLE' // the container cluster cannot be reached, or says that it cannot now
  | 'CLUSTER_TIMEOUT' // the container cluster does not answer, or does not finish, in time
  | 'CLUSTER_REFUSED' // a quota, a policy or a missing right in the container cluster

/** Where in a request something is wrong; `path` is the field, dotted. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

interface DomainErrorOptions {
  readonly cause?: unknown
  readonly fields?: readonly FieldError[]
  readonly retryAfterS?: number
  readonly allowed?: readonly string[]
}

/** A refusal of the service; `code` is stable, `message` is for people. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: DomainErrorCode
  readonly fields: readonly FieldError[]
  /** Seconds after which the same request may succeed. */
  readonly retryAfterS: number | undefined
  /** What could be done instead; undefined where that makes no sense. */
  readonly allowed: readonly string[] | undefined

  constructor(code: DomainErrorCode, message: string, options?: DomainErrorOptions) {
    super(message, options)
    this.code = code
    this.fields = options?.fields ?? []
    this.retryAfterS = options?.retryAfterS
    this.allowed = options?.allowed
  }
}
