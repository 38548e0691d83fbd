import type { Exchange } from '../exchange.ts'
import { HttpError } from '../http-error.ts'

const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/** The last host that was valid: that of most requests. */
let validHost = 'localhost'

/** Whether text is one host with an optional port (RFC 9110, section 7.2). Two `Host` headers arrive as a list. */
export function isHost(text: string): boolean {
  if (text === validHost) return true
  if (!HOST.test(text)) return false
  validHost = text
  return true
}

/**
 * Refuses a request whose `Host` is empty, malformed or repeated (RFC 9112, section 3.2): proxies in front of the service
 * may have read another value. The connection is closed because later requests on it cannot be trusted either.
 */
export function requireHost(exchange: Exchange): void {
  const host = exchange.header('host')
  if (host === undefined || isHost(host)) return
  throw new HttpError('INVALID_REQUEST', 'invalid Host header: send exactly one host', { Connection: 'close' })
}
