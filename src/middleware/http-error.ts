import type { Problem } from '../schemas/common.ts'

/** A refusal that only makes sense in HTTP, such as 405 or 415. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: Problem['code']
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: Problem['code'], message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}
