import type { z } from 'zod'
import type { RequestContext } from '../domain/audit.ts'
import { type Caller, hasRole, type Role } from '../domain/roles.ts'
import type { Upgrade } from '../middleware/server-socket.ts'

/** What a handler is given: everything parsed and checked, nothing of the framework. */
export interface RouteInput<Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Undefined only on routes that anyone may call. */
  readonly caller: Caller | undefined
  /** Establishes the caller again, for what lasts longer than a request; undefined when the session is over. */
  readonly checkCaller: () => Promise<Caller | undefined>
  readonly requestId: string
  readonly headers: Headers
  /** Address of the client behind trusted proxies; undefined when the host does not know it. */
  readonly remoteAddress: string | undefined
  /** Whether the client's connection is encrypted. */
  readonly secure: boolean
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  /** Present when the request asks for a WebSocket and the host can open one. */
  readonly upgrade: Upgrade | undefined
}

/** Who asks, in which request; only for routes with a minimum role. */
export function requestContext({
  caller,
  requestId,
}: Pick<RouteInput<never, never, never>, 'caller' | 'requestId'>): RequestContext {
  if (!caller) throw new Error('a route with a minimum role has a caller')
  return { caller, requestId }
}

/** For what lasts longer than a request: whether the caller is still the same, with at least this role. */
export function stillAllowed(
  { caller, checkCaller }: Pick<RouteInput<never, never, never>, 'caller' | 'checkCaller'>,
  minimum: Role,
): () => Promise<boolean> {
  return async () => {
    const now = await checkCaller()
    return now !== undefined && now.user === caller?.user && hasRole(now.role, minimum)
  }
}

/** A JSON answer; `undefined` body for 204. A handler may also answer with a whole Response, such as a stream. */
export interface RouteAnswer {
  readonly status: 200 | 201 | 202 | 204 | 503
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Request headers beyond the usual ones that a route takes into account. */
export type RequestHeader = 'If-Match' | 'Prefer'

/** One status that a route answers with when it does what was asked. */
export interface ResponseSpec {
  readonly description: string
  readonly schema?: z.ZodType
  /** Default `application/json`. */
  readonly contentType?: string
  /** Routes that go on from this answer: by `operationId`, where its path parameters are in the body (JSON pointers). */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** One endpoint: the only place where its path, minimum role, shapes and handler stand together. */
export interface RouteSpec<Params, Query, Body> {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** As in OpenAPI: `/api/table/{table_name}/schema`. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  /** `none`: no credential is asked for. */
  readonly minRole: Role | 'none'
  /** Whether the path exists now, with all its methods; default: always. */
  readonly available?: () => boolean
  readonly params?: z.ZodType<Params>
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly headers?: readonly RequestHeader[]
  readonly responses: Readonly<Record<number, ResponseSpec>>
  /** Statuses of its own refusals, beyond those that follow from its shape and role (`openapi/refusals.ts`). */
  readonly refuses?: readonly number[]
  readonly handle: (input: RouteInput<Params, Query, Body>) => Promise<RouteAnswer | Response>
}

/** A route whose shapes are forgotten, as the table of all routes holds it. */
export type Route = Omit<RouteSpec<unknown, unknown, unknown>, 'handle'> & {
  readonly handle: (input: RouteInput<never, never, never>) => Promise<RouteAnswer | Response>
}

/** Defines a route; its handler is typed by the schemas that stand beside it. */
export function route<Params = undefined, Query = undefined, Body = undefined>(
  spec: RouteSpec<Params, Query, Body>,
): Route {
  return spec
}
