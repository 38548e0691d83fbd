import type { Hono, MiddlewareHandler } from 'hono'
import { DomainError } from '../../domain/errors.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { Route } from './route.ts'

const PARAMETER = /\{(\w+)\}/g

/** Mounts a table of routes; other methods of a known path return 405 with `Allow`. */
export function mountRoutes(app: Hono<AppEnv>, routes: readonly Route[]): void {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  // the router takes the first match: static paths go before those with a parameter
  const paths = [...byPath].toSorted(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1))
  for (const [path, ofPath] of paths) {
    const pattern = path.replaceAll(PARAMETER, ':$1')
    app.all(pattern, requireMethod(ofPath))
    for (const { method, handlers } of ofPath) {
      for (const handler of handlers) app.on(method, pattern, handler)
    }
  }
}

function sortKey(path: string): string {
  return path.replaceAll(PARAMETER, '\uffff')
}

/** Refuses methods and paths that are not available. */
function requireMethod(routes: readonly Route[]): MiddlewareHandler<AppEnv> {
  const methods = new Set(routes.map(({ method }) => method.toUpperCase()))
  const allowed = [...methods].map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  const available = routes[0]?.available
  return (c, next) => {
    if (available?.() === false) throw new DomainError('NOT_FOUND', `no route ${c.req.path}`)
    if (methods.has(c.req.method === 'HEAD' ? 'GET' : c.req.method)) return next()
    throw new HttpError('METHOD_NOT_ALLOWED', `use ${allowed}`, { Allow: allowed })
  }
}
