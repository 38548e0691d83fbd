import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { RefusalLog } from '../services/audit/refusal-log.ts'
import type { AppEnv } from './app-env.ts'
import { isUpgrade } from './authenticate.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Writes one audit entry per denial (docs/api.md#audit-log): for every request without the needed credential or role, and
 * for every refused unsafe request. Denials without a valid credential are aggregated, and rate-limited requests appear
 * only in the request log, so that they cannot fill the audit log. Responses of notebooks are not audited.
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

/** Notebook pages poll their server every few seconds, also for days after their session has ended. */
function isPageLeftOpen(c: Context<AppEnv>): boolean {
  return c.res.status === 401 && c.req.method === 'GET' && c.req.path.startsWith('/notebook/') && !isUpgrade(c)
}
