import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { RefusalLog } from '../services/refusals/refusal-log.ts'
import type { AppEnv } from './app-env.ts'
import { isUpgrade } from './authenticate.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Leaves one audit entry per refusal (contract, section 3): of every request without the needed credential or role, and
 * of every unsafe request for any reason. Without a valid credential they are summed up, and those that a rate limit
 * turned away are in the request log only: their number must not fill the audit log. What a notebook answers is not a
 * refusal of the service.
 */
export function auditRefusals(refusals: RefusalLog) {
  return createMiddleware<AppEnv>(async function recordRefusal(c, next) {
    await next()
    if (c.get('relayed') === true || isPageLeftOpen(c)) return
    const { status } = c.res
    const denied = status === 401 || status === 403
    if (status < 400 || status === 429 || (!denied && SAFE_METHODS.has(c.req.method))) return
    await refusals.record({
      caller: c.get('caller'),
      address: c.get('clientAddress'),
      requestId: c.get('requestId'),
      method: c.req.method,
      path: c.req.path,
      status,
      code: c.get('problemCode'),
      error: c.error,
    })
  })
}

/** A page of a notebook asks its server every few seconds, and goes on for days when its session is over. */
function isPageLeftOpen(c: Context<AppEnv>): boolean {
  return c.res.status === 401 && c.req.method === 'GET' && c.req.path.startsWith('/notebook/') && !isUpgrade(c)
}
