import type { Hono, MiddlewareHandler } from 'hono'
import type { AppEnv } from '../../middleware/app-env.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { Route } from './route.ts'

const PARAMETER = /\{(\w+)\}/g

/** Names the route of each request for logs, metrics and traces. To be mounted first: a guard may refuse the request. */
export function nameRoutes(app: Hono<AppEnv>, routes: readonly Route[]): void {
  for (const [path] of pathsOf(routes)) {
    app.use(patternOf(path), (c, next) => {
      c.env.route ??= path
      return next()
    })
  }
}

/** Mounts a table of routes; other methods of a known path return 405 with `Allow`. */
export function mountRoutes(app: Hono<AppEnv>, routes: readonly Route[]): void {
  for (const [path, ofPath] of pathsOf(routes)) {
    const pattern = patternOf(path)
    const unavailable = ofPath[0]?.unavailable
    if (unavailable !== undefined) app.use(pattern, refuseWhile(unavailable))
    for (const { method, checks, answer } of ofPath) app.on(method.toUpperCase(), [pattern], ...checks, answer)
    app.all(pattern, refuseMethod(ofPath))
  }
}

/** The routes of each path. The router takes the first match, so static paths go before those with a parameter. */
function pathsOf(routes: readonly Route[]) {
  return [...Map.groupBy(routes, ({ path }) => path)].toSorted(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1))
}

function sortKey(path: string): string {
  return path.replaceAll(PARAMETER, '\uffff')
}

function patternOf(path: string): string {
  return path.replaceAll(PARAMETER, ':$1')
}

function refuseWhile(unavailable: NonNullable<Route['unavailable']>): MiddlewareHandler<AppEnv> {
  return async (_, next) => {
    const refusal = unavailable()
    if (refusal !== undefined) throw refusal
    return next()
  }
}

function refuseMethod(routes: readonly Route[]): MiddlewareHandler<AppEnv> {
  const allowed = routes.map(({ method }) => (method === 'get' ? 'GET, HEAD' : method.toUpperCase())).join(', ')
  return async () => {
    throw new HttpError('METHOD_NOT_ALLOWED', `use ${allowed}`, { Allow: allowed })
  }
}
