import type { Exchange } from './exchange.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const REQUEST_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'Mcp-Method',
  'Mcp-Name',
  'MCP-Protocol-Version',
  'Operation-Group',
  'Prefer',
].join(', ')
const RESPONSE_HEADERS = [
  'Allow',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ')
const PREFLIGHT_LIFETIME_S = 600
/** On every response of a shared path. */
export const VARY = 'Origin'

/** Answers the preflight request of a page of another origin; undefined for every other request. */
export type AnswerPreflight = (exchange: Exchange) => Response | undefined

/**
 * Lets pages of the allowed origins call the API with a token (Fetch standard, "CORS protocol"): answers preflights and
 * has the responses exposed, see {@link addCrossOriginHeaders}. Cookies are never allowed.
 */
export function crossOrigin(allowedOrigins: readonly string[]): AnswerPreflight {
  const allowed = new Set(allowedOrigins)
  return (exchange) => {
    const origin = exchange.header('origin')
    exchange.sharedWith = origin !== undefined && allowed.has(origin) ? origin : null
    if (exchange.sharedWith === null || !isPreflight(exchange)) return undefined
    const headers = {
      'Access-Control-Allow-Methods': METHODS,
      'Access-Control-Allow-Headers': REQUEST_HEADERS,
      'Access-Control-Max-Age': String(PREFLIGHT_LIFETIME_S),
    }
    return new Response(null, { status: 204, headers })
  }
}

/** Adds what a response on a shared path says about origins. */
export function addCrossOriginHeaders(exchange: Exchange, headers: Headers): void {
  const { sharedWith } = exchange
  if (sharedWith === undefined) return
  // a cache must not serve one origin's response to another
  if (headers.get('vary') !== VARY) headers.append('Vary', VARY)
  if (sharedWith === null) return
  headers.set('Access-Control-Allow-Origin', sharedWith)
  if (!isPreflight(exchange)) headers.set('Access-Control-Expose-Headers', RESPONSE_HEADERS)
}

function isPreflight(exchange: Exchange): boolean {
  return exchange.method === 'OPTIONS' && exchange.header('access-control-request-method') !== undefined
}
