import type { DomainErrorCode } from './error-codes.ts'

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
/** The refusal of every notebook path while no cluster is reachable: `NOT_FOUND`, because the routes do not exist then. */
export function noCluster(): DomainError {
  return new DomainError('NOT_FOUND', 'notebooks need a Kubernetes cluster; none is configured')
}
