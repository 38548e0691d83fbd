import { Hono } from 'hono'
import { DomainError } from './domain/errors.ts'
import type { IpNetwork } from './domain/network/ip-address.ts'
import type { AppEnv } from './middleware/app-env.ts'
import { type AuthenticateOptions, identify } from './middleware/authenticate.ts'
import type { Fetch } from './middleware/base-path.ts'
import { crossOrigin } from './middleware/cross-origin.ts'
import { createErrorHandler } from './middleware/error-handler.ts'
import type { Exchange } from './middleware/exchange.ts'
import { createFrame } from './middleware/frame.ts'
import { serveFrontend, type StaticFiles } from './middleware/frontend.ts'
import { answerOnce, hasIdempotencyKey } from './middleware/idempotency.ts'
import { createOriginGuard } from './middleware/origin-guard.ts'
import { type BodyLimits, createBodyReader } from './middleware/request/request-body.ts'
import { createNotebookHostApp, mountNotebookProxy, type NotebookMount } from './notebook-proxy/mount.ts'
import { type McpRouteDeps, mountMcp } from './routes/agent/mcp-route.ts'
import { allRoutes, type RouteDeps } from './routes/all-routes.ts'
import { type IcebergRestMount, mountIcebergRest } from './routes/iceberg-rest/mount-iceberg-rest.ts'
import { mountRoutes, type RouteGuard } from './routes/routing/mount-routes.ts'
import type { RefusalLog } from './services/audit/refusal-log.ts'
import type { Logger } from './services/logger.ts'
import type { Tracing } from './services/metrics/tracing/tracing.ts'
import type { IdempotencyService } from './services/operations/idempotency-service.ts'

/** Everything the app needs; `context/create-context.ts` makes it. */
export interface AppContext extends RouteDeps, McpRouteDeps, IcebergRestMount {
  readonly log: Logger
  readonly authMode: 'token' | 'off'
  readonly allowedOrigins: readonly string[]
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly IpNetwork[]
  readonly refusals: RefusalLog
  readonly newRequestId: () => string
  readonly idempotency: IdempotencyService
  readonly staticFiles: StaticFiles
  readonly notebookProxy: NotebookMount
  /** Undefined: no traces are sent. */
  readonly tracing: Tracing | undefined
  /** Recognizes the token that reads the metrics. */
  readonly metricsAccess: AuthenticateOptions['configured']
}

const BODY_LIMITS: BodyLimits = { maxBytes: 2 ** 20, maxMs: 60_000 }
/** An exported document may be longer than the request that it came from, and it imports as it is. */
const IMPORT_LIMITS: BodyLimits = { maxBytes: 10 * 2 ** 20, maxMs: 300_000 }
const IMPORT_PATH = '/api/pipeline-defs/import'
const API_PATHS = /^\/api(\/|$)/
const HEALTH_PATHS = /^\/api\/health(\/(live|ready))?$/

/** The whole service as one fetch handler; it does no I/O of its own, so any host can embed it. */
export function createApp(context: AppContext): { readonly fetch: Fetch } {
  const handleError = createErrorHandler(context.log)
  const answer = createAnswer(context, handleError)
  const sharesOriginWithNotebooks = context.notebookProxy.origins === undefined
  return { fetch: createFrame({ ...context, handleError, answer, sharesOriginWithNotebooks }) }
}

type HandleError = ReturnType<typeof createErrorHandler>
type AnswerExchange = (exchange: Exchange) => Response | Promise<Response>

function createAnswer(context: AppContext, handleError: HandleError): AnswerExchange {
  const api = apiGuard(context, handleError)
  const metrics = metricsGuard(context)
  const health = healthGuard(context)
  const guardOf = (path: string): RouteGuard => {
    if (path === '/metrics') return metrics
    return HEALTH_PATHS.test(path) ? health : api
  }
  const app = createHono(context, { handleError, api })
  mountRoutes(app, allRoutes(context), guardOf)
  const hosted = notebookHosts(context, handleError)
  return (exchange) => {
    const { request } = exchange
    // separate notebook hosts serve notebooks only, so every request must pass this check
    if (hosted?.includes(exchange.host)) return hosted.app.fetch(request, exchange)
    return app.fetch(request, exchange)
  }
}

/** The app of separate notebook hosts, and which hosts these are; undefined when notebooks share the service's host. */
function notebookHosts(context: AppContext, handleError: HandleError) {
  const { origins } = context.notebookProxy
  if (origins === undefined) return undefined
  const app = createNotebookHostApp(notebookOptions(context), origins)
  app.onError((error, c) => handleError(error, c.env))
  return { app, includes: (host: string) => origins.hosts.includes(host) }
}

function notebookOptions({ authMode: mode, identity, allowedOrigins, log, notebookProxy }: AppContext) {
  return { ...notebookProxy, mode, identity, allowedOrigins, log }
}

function withErrors(answer: AnswerExchange, exchange: Exchange, handleError: HandleError) {
  const failed = (error: unknown): Response => {
    if (error instanceof Error) return handleError(error, exchange)
    throw error
  }
  try {
    const answered = answer(exchange)
    return answered instanceof Promise ? answered.catch(failed) : answered
  } catch (error) {
    return failed(error)
  }
}

interface HonoParts {
  readonly handleError: HandleError
  readonly api: RouteGuard
}

/** All but the routes of the table. */
function createHono(context: AppContext, { handleError, api }: HonoParts): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.onError((error, c) => handleError(error, c.env))
  app.notFound(async ({ env: exchange }) => {
    if (API_PATHS.test(exchange.path)) {
      const preflight = await api.check(exchange)
      if (preflight !== undefined) return preflight
    }
    const page = await serveFrontend(exchange, context.staticFiles)
    if (page !== undefined) return page
    throw new DomainError('NOT_FOUND', `there is no route ${exchange.path}`)
  })
  mountNotebookProxy(app, notebookOptions(context))
  mountMcp(app, context)
  mountIcebergRest(app, context)
  return app
}

/** Identity, then the origin: for every path of the API, also those without a route. */
function apiGuard(context: AppContext, handleError: HandleError): RouteGuard {
  const { authMode: mode, identity, allowedOrigins, idempotency } = context
  const answerPreflight = crossOrigin(allowedOrigins)
  const offerBody = createBodyReader((path) => (path === IMPORT_PATH ? IMPORT_LIMITS : BODY_LIMITS))
  const identified = identifiedGuard({ mode, identity }, allowedOrigins)
  return {
    check(exchange) {
      offerBody(exchange)
      return answerPreflight(exchange) ?? identified(exchange)
    },
    around(exchange, answer) {
      if (!hasIdempotencyKey(exchange)) return answer()
      // a refusal is stored like any other response, and so is not left to Hono
      return answerOnce(idempotency, exchange, async () => withErrors(answer, exchange, handleError))
    },
  }
}

/** No credential is looked at: the look-up would hang with the database whose health is asked for. */
function healthGuard({ allowedOrigins }: AppContext): RouteGuard {
  const answerPreflight = crossOrigin(allowedOrigins)
  const offerBody = createBodyReader(() => BODY_LIMITS)
  return {
    check(exchange) {
      offerBody(exchange)
      return answerPreflight(exchange)
    },
  }
}

function metricsGuard({ authMode: mode, identity, allowedOrigins, metricsAccess }: AppContext): RouteGuard {
  const configured = metricsAccess === undefined ? {} : { configured: metricsAccess }
  return { check: identifiedGuard({ mode, identity, ...configured }, allowedOrigins) }
}

function identifiedGuard(options: AuthenticateOptions, allowedOrigins: readonly string[]) {
  const checkOrigin = createOriginGuard({ mode: options.mode, allowedOrigins })
  return (exchange: Exchange): undefined | Promise<undefined> => {
    const identifying = identify(exchange, options)
    return identifying === undefined ? checkOrigin(exchange) : identifying.then(() => checkOrigin(exchange))
  }
}
