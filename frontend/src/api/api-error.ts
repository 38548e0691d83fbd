import type { Problem } from './types.ts'

type ProblemWords = Partial<Omit<Problem, 'code'>> & { readonly code: string; readonly detail: string }

/** A refusal or failure of the service (problem details, RFC 9457), or no answer at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  /** One of the closed list of the interface; `NETWORK` when no answer came. */
  readonly code: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly errors: readonly { readonly path: string; readonly message: string }[]
  /** What could be done instead, with `INVALID_TRANSITION`. */
  readonly allowed: readonly string[]

  constructor(status: number, problem: ProblemWords, cause?: unknown) {
    super(problem.detail, cause === undefined ? undefined : { cause })
    this.name = 'ApiError'
    this.status = status
    this.code = problem.code
    this.detail = problem.detail
    this.requestId = problem.request_id
    this.errors = problem.errors ?? []
    this.allowed = problem.allowed ?? []
  }
}

/** Whether there was no response, because the service or the network is down. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || (error.code === 'NO_PROBLEM' && error.status >= 502))
}

/** Whether the service answered that the resource does not exist (404). Retrying does not help. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

/** Whether the error is a refusal with this code. */
export function hasCode(error: unknown, code: string): error is ApiError {
  return error instanceof ApiError && error.code === code
}
