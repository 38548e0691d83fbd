import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { matchedRoutes } from 'hono/route'
import type { MetricsService } from '../services/metrics/metrics-service.ts'
import type { AppEnv } from './app-env.ts'

/** Paths of middleware; a request that matched only these asked for a file of the page, or for nothing that exists. */
const MIDDLEWARE = new Set(['*', '/*', '/api/*'])
const PARAMETER = /:(\w+)/g

/** Counts each request and measures the time until its response starts. */
export function observeRequests(metrics: Pick<MetricsService, 'request'>) {
  return createMiddleware<AppEnv>(async function observe(c, next) {
    const startedAt = performance.now()
    await next()
    const seconds = (performance.now() - startedAt) / 1000
    metrics.request({ method: c.req.method, route: routePattern(c), status: c.res.status, seconds })
  })
}

/** The pattern of the route that a request matched, such as `/api/table/{table_name}`; `other` when there is none. */
export function routePattern(c: Context<AppEnv>): string {
  const path = matchedRoutes(c).findLast((route) => !MIDDLEWARE.has(route.path))?.path
  return path === undefined ? 'other' : path.replaceAll(PARAMETER, '{$1}')
}
