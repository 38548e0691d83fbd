import { Hono } from 'hono'
import { DomainError } from './domain/errors.ts'
import type { IpNetwork } from './domain/network/ip-address.ts'
import type { AppEnv } from './middleware/app-env.ts'
import { authenticate, type AuthenticateOptions } from './middleware/authenticate.ts'
import type { Fetch } from './middleware/base-path.ts'
import { crossOrigin } from './middleware/cross-origin.ts'
import { createErrorHandler } from './middleware/error-handler.ts'
import type { Exchange } from './middleware/exchange.ts'
import { createFrame } from './middleware/frame.ts'
import { serveFrontend, type StaticFiles } from './middleware/frontend.ts'
import { idempotency } from './middleware/idempotency.ts'
import { originGuard } from './middleware/origin-guard.ts'
import { type BodyLimits, requestBody } from './middleware/request/request-body.ts'
import { createNotebookHostApp, mountNotebookProxy, type NotebookMount } from './notebook-proxy/mount.ts'
import { type McpRouteDeps, mountMcp } from './routes/agent/mcp-route.ts'
import { allRoutes, type RouteDeps } from './routes/all-routes.ts'
import { type IcebergRestMount, mountIcebergRest } from './routes/iceberg-rest/mount-iceberg-rest.ts'
import { mountRoutes, nameRoutes } from './routes/routing/mount-routes.ts'
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
  const app = createHono(context, handleError)
  const hosted = notebookHosts(context, handleError)
  return (exchange) => {
    // separate notebook hosts serve notebooks only, so every request must pass this check
    const serving = hosted?.includes(exchange.host) ? hosted.app : app
    return serving.fetch(exchange.request, exchange)
  }
}

function createHono(context: AppContext, handleError: HandleError): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.onError((error, c) => handleError(error, c.env))
  app.notFound(async ({ env: exchange }) => {
    const page = await serveFrontend(exchange, context.staticFiles)
    if (page !== undefined) return page
    throw new DomainError('NOT_FOUND', `there is no route ${exchange.path}`)
  })
  mountNotebookProxy(app, notebookOptions(context))
  mountMcp(app, context)
  mountIcebergRest(app, context)
  mountApi(app, context)
  return app
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

/**
 * The routes of the table, behind identity and then origin, which also guard paths of the API without a route. No credential
 * is looked at for health: the look-up would hang with the database whose health is asked for.
 */
function mountApi(app: Hono<AppEnv>, context: AppContext): void {
  const { authMode: mode, identity, allowedOrigins, metricsAccess } = context
  const { true: health = [], false: others = [] } = Object.groupBy(
    allRoutes(context),
    ({ path }) => `${HEALTH_PATHS.test(path)}` as const,
  )
  nameRoutes(app, [...health, ...others])
  app.use('/api/*', crossOrigin(allowedOrigins))
  mountRoutes(app, health)
  const configured = metricsAccess === undefined ? {} : { configured: metricsAccess }
  app.use('/metrics', authenticate({ mode, identity, ...configured }))
  app.use('/api/*', authenticate({ mode, identity }))
  for (const path of ['/metrics', '/api/*']) app.use(path, originGuard({ mode, allowedOrigins }))
  app.on(
    ['POST', 'PUT', 'DELETE'],
    '/api/*',
    requestBody((path) => (path === IMPORT_PATH ? IMPORT_LIMITS : BODY_LIMITS)),
  )
  app.post('/api/*', idempotency(context.idempotency))
  mountRoutes(app, others)
}
