import type { Context } from 'hono'
import type { z } from 'zod'
import type { RequestContext } from '../../domain/audit.ts'
import type { DomainError } from '../../domain/errors.ts'
import { type SignedInUser, hasRole, type Role } from '../../domain/roles.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { requireRole } from '../../middleware/require-role.ts'
import { type Reach, withReach } from './reach.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import { type Answer, type Responses, respond } from './answer.ts'
import { type Check, type Validated, validators } from './validators.ts'

/** Input of a handler whose route needs no role. */
export interface PublicInput<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly exchange: Exchange
}

/** Input of a handler whose route has a minimum role. */
export interface RouteInput<Params, Query, Body> extends PublicInput<Params, Query, Body> {
  /** The caller; has at least the minimum role. */
  readonly caller: SignedInUser
}

/** The caller and request id; only for routes with a minimum role. */
export function requestContext({
  caller,
  exchange,
}: Pick<RouteInput<never, never, never>, 'caller' | 'exchange'>): RequestContext {
  return { caller, requestId: exchange.requestId }
}

/** A check for streams and sockets: whether the caller is still the same user, with at least this role. */
export function stillAllowed(
  { caller, exchange }: Pick<RouteInput<never, never, never>, 'caller' | 'exchange'>,
  minimum: Role,
): () => Promise<boolean> {
  return async () => {
    const now = await exchange.checkCaller()
    return now !== undefined && now.user === caller.user && hasRole(now.role, minimum)
  }
}

/** Request headers beyond the usual ones that a route takes into account. */
export type RequestHeader = 'If-Match' | 'Prefer' | 'Operation-Group'

/** One endpoint in the route table: its schemas, and the handlers that validate and answer requests. */
export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** As in OpenAPI: `/api/table/{table_name}/schema`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  /** `none`: no credential is needed. */
  readonly minRole: Role | 'none'
  /** Default: the route refuses callers whom grants limit. */
  readonly reach?: Reach
  /** The refusal while the path does not exist, with all its methods; undefined while it exists. Default: it exists. */
  readonly unavailable?: () => DomainError | undefined
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  readonly headers?: readonly RequestHeader[]
  readonly responses: Responses
  /** Statuses of its own refusals, beyond those that follow from its shape and role (`openapi/refusals.ts`). */
  readonly refuses?: readonly number[]
  /** Run in turn before the answer; they throw refusals. */
  readonly checks: readonly Check[]
  readonly answer: (c: Context<AppEnv>) => Response | Promise<Response>
}

/** Path, minimum role and shapes of an endpoint; its handler follows in `handle`. */
interface RouteSpec<Params, Query, Body, R extends Responses> extends Omit<Route, 'checks' | 'answer'> {
  readonly params?: z.ZodType<Params>
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly responses: R
}

/** Creates a route from a handler that returns one of the route's responses ({@link Answer}). */
interface Unhandled<Input, R extends Responses> {
  handle(handler: (input: Input) => Answer<R> | Promise<Answer<R>>): Route
}

/**
 * Defines a route with a minimum role. Its handler is typed by its schemas and role:
 * `route({ … }).handle(async ({ params, caller }) => ({ status: 200, body: … }))`.
 */
export function route<R extends Responses, Params = undefined, Query = undefined, Body = undefined>(
  spec: RouteSpec<Params, Query, Body, R> & { readonly minRole: Role },
): Unhandled<RouteInput<Params, Query, Body>, R> {
  const { minRole } = spec
  const checkRole: Check = (c) => void requireRole(c.env.caller, minRole)
  return {
    handle: (handler) => {
      const answer = (c: ValidContext<Params, Query, Body>): Response | Promise<Response> => {
        const caller = requireRole(c.env.caller, minRole)
        const input = inputOf(c)
        const run = (): ReturnType<typeof handler> => handler({ ...input, caller })
        return respondWith(c.env, withReach({ reach: spec.reach, minRole, input, caller }, run))
      }
      return { ...spec, checks: [checkRole, ...validators(spec)], answer }
    },
  }
}

/** Defines a route that anyone may call; otherwise as {@link route}. */
export function publicRoute<R extends Responses, Params = undefined, Query = undefined, Body = undefined>(
  spec: Omit<RouteSpec<Params, Query, Body, R>, 'minRole'>,
): Unhandled<PublicInput<Params, Query, Body>, R> {
  return {
    handle: (handler) => {
      const answer = (c: ValidContext<Params, Query, Body>): Response | Promise<Response> =>
        respondWith(c.env, handler(inputOf(c)))
      return { ...spec, minRole: 'none', checks: validators(spec), answer }
    },
  }
}

/** Waits only for a handler that does. */
function respondWith<A extends Parameters<typeof respond>[1]>(
  exchange: Exchange,
  answer: A | Promise<A>,
): Response | Promise<Response> {
  return answer instanceof Promise ? answer.then((settled) => respond(exchange, settled)) : respond(exchange, answer)
}

type ValidContext<Params, Query, Body> = Context<AppEnv, string, Validated<Params, Query, Body>>

function inputOf<Params, Query, Body>(c: ValidContext<Params, Query, Body>): PublicInput<Params, Query, Body> {
  const { req, env: exchange } = c
  return { params: req.valid('param'), query: req.valid('query'), body: req.valid('json'), exchange }
}
