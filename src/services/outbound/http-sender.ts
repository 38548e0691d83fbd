import { type CheckedAddressOptions, checkTarget, openRequest } from './checked-request.ts'

/** A JSON message to somebody else's server. */
export interface OutboundMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/** What the receiver of a message said. */
export interface Reply {
  /** A status of HTTP or SMTP; 200 to 299: it took the message. */
  readonly status: number
  /** How long it asks to be left alone, ms. */
  readonly retryAfterMs?: number
}

/**
 * Sends a message. Does not follow redirects. Rejects with `ForbiddenAddressError` when the name resolves to an address
 * that is not allowed, otherwise with the failure.
 */
export type SendMessage = (message: OutboundMessage) => Promise<Reply>

/** Sends messages by POST to checked addresses only, see {@link checkTarget}; reads only the head of the reply. */
export function createHttpSender(options: CheckedAddressOptions): SendMessage {
  return async ({ url, headers, body, signal }) => {
    const target = await checkTarget(new URL(url), options)
    signal.throwIfAborted()
    const request = openRequest(target, {
      method: 'POST',
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
      },
      signal,
    })
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    request.on('response', (response) => {
      const retryAfterMs = parseRetryAfter(response.headers['retry-after'], Date.now())
      resolve({ status: response.statusCode ?? 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
      response.destroy()
    })
    request.on('error', reject)
    request.end(body)
    return promise
  }
}

/** The delay of a `Retry-After` header in ms (RFC 9110, section 10.2.3); undefined when it has none. */
function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
