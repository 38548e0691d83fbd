import { STATUS_CODES } from 'node:http'
import type { ConnectionInfo } from '../middleware/connection/info.ts'
import { BARE_ANSWER_HEADERS } from '../middleware/security-headers.ts'

/** How the app is served over HTTP. */
export interface ServeOptions {
  readonly fetch: (request: Request, connection: ConnectionInfo) => Response | Promise<Response>
  readonly hostname: string
  /** 0: a free port. */
  readonly port: number
  /** Called with errors thrown by `fetch`; the client gets a bare 500. */
  readonly onError?: (error: unknown) => void
  /** Larger WebSocket messages close the socket with 1009; default 64 KiB. */
  readonly maxSocketMessageBytes?: number
}

/** A server that listens. */
export interface RunningServer {
  readonly port: number
  /**
   * Refuses new connections immediately. Graceful: resolves when open requests are answered and WebSockets are closed
   * with 1001; otherwise closes all connections. Call it again to end a graceful stop early.
   */
  readonly stop: (graceful: boolean) => Promise<void>
}

/**
 * Request line and headers that a server reads, in bytes: more than the app accepts (`middleware/header-limit.ts`), so that
 * its error response has a body. Beyond it a server returns a bare 431.
 */
export const MAX_HEADER_BYTES = 64 * 1024

/** Host for an HTTP/1.0 request without one, such as a load balancer's health check. */
export const DEFAULT_HOST = 'localhost'

/** Default of {@link ServeOptions.maxSocketMessageBytes}. */
export const MAX_SOCKET_MESSAGE_BYTES = 64 * 1024

/** The answer of a server itself, to a request that the app cannot answer. */
export function bareAnswer(status: number): Response {
  return new Response(STATUS_CODES[status] ?? '', { status, headers: BARE_ANSWER_HEADERS })
}

/** Handles a request with `fetch`; errors go to `onError` and never to the client. Waits only if `fetch` does. */
export function answerSafely(
  options: Pick<ServeOptions, 'fetch' | 'onError'>,
  request: Request,
  connection: ConnectionInfo,
): Response | Promise<Response> {
  const failed = (error: unknown): Response => {
    options.onError?.(error)
    return bareAnswer(500)
  }
  try {
    const answered = options.fetch(request, connection)
    return answered instanceof Promise ? answered.catch(failed) : answered
  } catch (error) {
    return failed(error)
  }
}
