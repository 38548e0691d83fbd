import { createMiddleware } from 'hono/factory'
import type { Logger } from '../services/logger.ts'
import type { AppEnv } from './app-env.ts'

const CALLER_SUPPLIED = /^[\w.-]{8,100}$/

/** Gives every request an id (or keeps a valid `X-Request-Id`), returns it, and logs one line per request. */
export function requestLog({ log, newRequestId }: { log: Logger; newRequestId: () => string }) {
  return createMiddleware<AppEnv>(async function logRequest(c, next) {
    const given = c.req.header('x-request-id')
    const requestId = given && CALLER_SUPPLIED.test(given) ? given : newRequestId()
    const startedAt = performance.now()
    c.set('requestId', requestId)
    await next()
    c.res.headers.set('X-Request-Id', requestId)
    log.info('request', {
      request_id: requestId,
      method: c.req.method,
      path: c.req.path,
      status: c.res.status,
      user: c.get('caller')?.user,
      duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
    })
  })
}
