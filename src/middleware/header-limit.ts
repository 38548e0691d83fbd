import type { Exchange } from './exchange.ts'
import { HttpError } from './http-error.ts'

const MAX_BYTES = 16 * 2 ** 10

/**
 * Refuses a request whose URL and headers exceed 16 KiB, with a problem document. The servers accept more
 * (`MAX_HEADER_BYTES`), because their own refusal has no body.
 */
export function limitHeaders({ request, headers }: Exchange): void {
  if (request.url.length + headers.bytes <= MAX_BYTES) return
  throw new HttpError('HEADERS_TOO_LARGE', `the URL and headers of a request may have at most ${MAX_BYTES} bytes`)
}
