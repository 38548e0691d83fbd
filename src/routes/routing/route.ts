import type { Context } from 'hono'
import type { z } from 'zod'
import type { RequestContext } from '../../domain/audit.ts'
import type { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole, type Role } from '../../domain/roles.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { requireRole } from '../../middleware/require-role.ts'
import type { Exchange } from '../../middleware/exchange.ts'
import type { Upgrade } from '../../middleware/connection/server-socket.ts'
import { type Answer, type Responses, respond } from './answer.ts'
import { type Check, type Validated, validators } from './validators.ts'

/** Input of a handler whose route needs no role: parsed and validated, independent of the framework. */
export interface PublicInput<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly requestId: string
  readonly headers: Headers
  /** Address of the client behind trusted proxies; undefined when the host does not know it. */
  readonly remoteAddress: string | undefined
  /** Whether the client's connection is encrypted. */
  readonly secure: boolean
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Present when the request asks for a WebSocket and the host can open one. */
  readonly upgrade: Upgrade | undefined
}

/** Input of a handler whose route has a minimum role. */
export interface RouteInput<Params, Query, Body> extends PublicInput<Params, Query, Body> {
  /** The caller; has at least the minimum role. */
  readonly caller: Caller
  /** Re-checks the caller, for streams and sockets; undefined when the session has ended. */
  readonly checkCaller: () => Promise<Caller | undefined>
}

/** The caller and request id; only for routes with a minimum role. */
export function requestContext({ caller, requestId }: RequestContext): RequestContext {
  return { caller, requestId }
}

/** A check for streams and sockets: whether the caller is still the same user, with at least this role. */
export function stillAllowed(
  { caller, checkCaller }: Pick<RouteInput<never, never, never>, 'caller' | 'checkCaller'>,
  minimum: Role,
): () => Promise<boolean> {
  return async () => {
    const now = await checkCaller()
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
        return respondWith(c.env, handler(new CallerInput(c.env, validOf(c), caller)))
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
        respondWith(c.env, handler(new ExchangeInput(c.env, validOf(c))))
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

/** The parts of a request that have passed their schemas. */
type ValidInput<Params, Query, Body> = Pick<PublicInput<Params, Query, Body>, 'params' | 'query' | 'body'>

function validOf<Params, Query, Body>({ req }: ValidContext<Params, Query, Body>): ValidInput<Params, Query, Body> {
  return { params: req.valid('param'), query: req.valid('query'), body: req.valid('json') }
}

/** The input of a handler. A class, because an object with this many getters takes longer to make than most answers. */
class ExchangeInput<Params, Query, Body> implements PublicInput<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly #exchange: Exchange

  constructor(exchange: Exchange, { params, query, body }: ValidInput<Params, Query, Body>) {
    this.#exchange = exchange
    this.params = params
    this.query = query
    this.body = body
  }

  get requestId(): string {
    return this.#exchange.requestId
  }

  get headers(): Headers {
    return this.#exchange.request.headers
  }

  get remoteAddress(): string | undefined {
    return this.#exchange.clientAddress
  }

  get secure(): boolean {
    return this.#exchange.isSecure
  }

  get signal(): AbortSignal {
    return this.#exchange.request.signal
  }

  get upgrade(): Upgrade | undefined {
    return this.#exchange.upgrade
  }
}

/** The input of a handler whose route has a minimum role, which the caller was found to have. */
class CallerInput<Params, Query, Body>
  extends ExchangeInput<Params, Query, Body>
  implements RouteInput<Params, Query, Body>
{
  readonly caller: Caller
  readonly checkCaller: () => Promise<Caller | undefined>

  constructor(exchange: Exchange, valid: ValidInput<Params, Query, Body>, caller: Caller) {
    super(exchange, valid)
    this.caller = caller
    this.checkCaller = exchange.checkCaller
  }
}
