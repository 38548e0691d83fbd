import type { ErrorCode } from '../domain/error-codes.ts'

/** An HTTP-specific error, such as `METHOD_NOT_ALLOWED`, or one with its own response headers. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.code = code
    this.headers = headers
  }
}
