import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'
import { HttpError } from './http-error.ts'

const MAX_BYTES = 16 * 2 ** 10

/**
 * Refuses a request whose URL and headers exceed 16 KiB, with a problem document. The servers accept more
 * (`MAX_HEADER_BYTES`), because their own refusal has no body.
 */
export function limitHeaders() {
  return createMiddleware<AppEnv>(async function refuseLongHeaders(c, next) {
    let size = c.req.raw.url.length
    for (const [name, value] of c.req.raw.headers) size += name.length + value.length + 4
    if (size > MAX_BYTES) {
      throw new HttpError('HEADERS_TOO_LARGE', `the URL and headers of a request may have at most ${MAX_BYTES} bytes`)
    }
    await next()
  })
}
