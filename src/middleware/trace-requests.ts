import { createMiddleware } from 'hono/factory'
import type { Tracing } from '../services/metrics/tracing/tracing.ts'
import type { AppEnv } from './app-env.ts'
import { routePattern } from './observe-requests.ts'

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])

/** Traces each request as a span of its route pattern, and continues the trace of a caller (W3C Trace Context). */
export function traceRequests(tracing: Tracing) {
  return createMiddleware<AppEnv>(async function trace(c, next) {
    const method = METHODS.has(c.req.method) ? c.req.method : '_OTHER'
    const end = () => ({
      name: `${method} ${routePattern(c)}`,
      attributes: {
        'http.request.method': method,
        'http.route': routePattern(c),
        'http.response.status_code': c.res.status,
      },
      isError: c.res.status >= 500,
    })
    await tracing.span({ name: method, traceparent: c.req.header('traceparent'), isRequest: true, end }, () => next())
  })
}
