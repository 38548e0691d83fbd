import type { Context, Hono } from 'hono'
import type { AppEnv } from '../../middleware/app-env.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { Route } from './route.ts'

/** What happens to a request before its route sees it, and around it. */
export interface RouteGuard {
  /** Throws a refusal; a response instead of that of the route. Undefined when there was nothing to wait for. */
  readonly check: (exchange: Exchange) => Response | undefined | Promise<Response | undefined>
  /** Runs the route's answer, or repeats an earlier one. */
  readonly around?: (exchange: Exchange, answer: () => Response | Promise<Response>) => Response | Promise<Response>
}

const PARAMETER = /\{(\w+)\}/g

/**
 * Mounts a table of routes; other methods of a known path return 405 with `Allow`. Each path has one handler, which Hono
 * calls without a chain around it, and which does not wait where nothing is waited for.
 */
export function mountRoutes(
  app: Hono<AppEnv>,
  routes: readonly Route[],
  guardOf: (path: string) => RouteGuard | undefined = () => undefined,
): void {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  // the router takes the first match: static paths go before those with a parameter
  const paths = [...byPath].toSorted(([a], [b]) => (sortKey(a) < sortKey(b) ? -1 : 1))
  for (const [path, ofPath] of paths) {
    const answer = answerPath(ofPath)
    app.all(path.replaceAll(PARAMETER, ':$1'), guarded(path, guardOf(path), answer))
  }
}

function sortKey(path: string): string {
  return path.replaceAll(PARAMETER, '\uffff')
}

type Handler = (c: Context<AppEnv>) => Response | Promise<Response>

function guarded(path: string, guard: RouteGuard | undefined, answer: Handler): Handler {
  const around = guard?.around
  const run: Handler = around === undefined ? answer : (c) => around(c.env, () => answer(c))
  return (c) => {
    c.env.route = path
    const checked = guard?.check(c.env)
    if (checked instanceof Promise) return checked.then((instead) => instead ?? run(c))
    return checked ?? run(c)
  }
}

/** Refuses methods and paths that are not available, and answers the others. */
function answerPath(routes: readonly Route[]): Handler {
  const byMethod = new Map(routes.map((route) => [route.method.toUpperCase(), answerRoute(route)]))
  const allowed = [...byMethod.keys()].map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')
  const unavailable = routes[0]?.unavailable
  return (c) => {
    const refusal = unavailable?.()
    if (refusal !== undefined) throw refusal
    const { method } = c.req
    const answer = byMethod.get(method === 'HEAD' ? 'GET' : method)
    if (answer !== undefined) return answer(c)
    throw new HttpError('METHOD_NOT_ALLOWED', `use ${allowed}`, { Allow: allowed })
  }
}

/** Runs the checks of a route in turn, then answers. */
function answerRoute({ checks, answer }: Route): Handler {
  const from = (c: Context<AppEnv>, first: number): Response | Promise<Response> => {
    for (let at = first; at < checks.length; at += 1) {
      const checked = checks[at]?.(c)
      if (checked instanceof Promise) return checked.then(() => from(c, at + 1))
    }
    return answer(c)
  }
  return (c) => from(c, 0)
}
