import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'

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

/**
 * Lets pages of the allowed origins call the API with a token (Fetch standard, "CORS protocol"): answers preflights and
 * exposes the responses. Cookies are never allowed.
 */
export function crossOrigin(allowedOrigins: readonly string[]) {
  const allowed = new Set(allowedOrigins)
  return createMiddleware<AppEnv>(async function allowOrigins(c, next) {
    const origin = c.req.header('origin')
    const isAllowed = origin !== undefined && allowed.has(origin)
    const isPreflight = c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined
    if (isAllowed && isPreflight) {
      c.res = new Response(null, { status: 204 })
      c.res.headers.set('Access-Control-Allow-Methods', METHODS)
      c.res.headers.set('Access-Control-Allow-Headers', REQUEST_HEADERS)
      c.res.headers.set('Access-Control-Max-Age', String(PREFLIGHT_LIFETIME_S))
    } else await next()
    // a cache must not serve one origin's response to another
    c.res.headers.append('Vary', 'Origin')
    if (!isAllowed) return
    c.res.headers.set('Access-Control-Allow-Origin', origin)
    if (!isPreflight) c.res.headers.set('Access-Control-Expose-Headers', RESPONSE_HEADERS)
  })
}
