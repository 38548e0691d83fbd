import { Hono } from 'hono'
import { DomainError } from './domain/errors.ts'
import type { IpNetwork } from './domain/network/ip-address.ts'
import type { AppEnv } from './middleware/app-env.ts'
import { auditRefusals } from './middleware/audit-refusals.ts'
import { authenticate, type AuthenticateOptions } from './middleware/authenticate.ts'
import { crossOrigin } from './middleware/cross-origin.ts'
import { createErrorHandler } from './middleware/error-handler.ts'
import { frontend, type StaticFiles } from './middleware/frontend.ts'
import { limitHeaders } from './middleware/header-limit.ts'
import { idempotency } from './middleware/idempotency.ts'
import { mountNotebookHosts, mountNotebookProxy, type NotebookMount } from './notebook-proxy/mount.ts'
import { observeRequests } from './middleware/observe-requests.ts'
import { originGuard } from './middleware/origin-guard.ts'
import { requestLog } from './middleware/request-log.ts'
import { clientAddress } from './middleware/request/client-address.ts'
import { type BodyLimits, requestBody } from './middleware/request/request-body.ts'
import { requireHost } from './middleware/request/require-host.ts'
import { traceRequests } from './middleware/trace-requests.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { type McpRouteDeps, mountMcp } from './routes/agent/mcp-route.ts'
import { type IcebergRestMount, mountIcebergRest } from './routes/iceberg-rest/mount-iceberg-rest.ts'
import { mountRoutes } from './routes/routing/mount-routes.ts'
import { StaticFirstRouter } from './routes/routing/static-first-router.ts'
import { allRoutes, type RouteDeps } from './routes/all-routes.ts'
import type { IdempotencyService } from './services/operations/idempotency-service.ts'
import type { Tracing } from './services/metrics/tracing/tracing.ts'
import type { Logger } from './services/logger.ts'
import type { RefusalLog } from './services/audit/refusal-log.ts'

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

/** The whole service as one fetch handler; it does no I/O of its own, so any host can embed it. */
export function createApp(context: AppContext): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ router: new StaticFirstRouter() })
  app.onError(createErrorHandler(context.log))
  app.notFound((c) => {
    throw new DomainError('NOT_FOUND', `no route ${c.req.path}`)
  })
  if (context.tracing !== undefined) app.use(traceRequests(context.tracing))
  app.use(observeRequests(context.metrics))
  app.use(requestLog(context))
  app.use(securityHeaders())
  app.use(clientAddress(context.trustedProxies))
  app.use(auditRefusals(context.refusals))
  app.use(limitHeaders())
  app.use(requireHost())
  const { authMode: mode, identity, allowedOrigins, log } = context
  const configured = context.metricsAccess === undefined ? {} : { configured: context.metricsAccess }
  const notebooks = { ...context.notebookProxy, mode, identity, allowedOrigins, log }
  mountNotebookHosts(app, notebooks)
  app.use(frontend(context.staticFiles))
  app.use('/api/*', crossOrigin(allowedOrigins))
  app.use('/mcp', crossOrigin(allowedOrigins))
  app.use('/api/*', authenticate({ mode: context.authMode, identity: context.identity }))
  app.use('/metrics', authenticate({ mode, identity, ...configured }))
  app.use('/metrics', originGuard({ mode, allowedOrigins }))
  app.use('/api/*', originGuard({ mode: context.authMode, allowedOrigins: context.allowedOrigins }))
  app.use(
    '/api/*',
    requestBody((path) => (path === IMPORT_PATH ? IMPORT_LIMITS : BODY_LIMITS)),
  )
  app.use('/api/*', idempotency(context.idempotency))
  mountNotebookProxy(app, notebooks)
  mountMcp(app, context)
  mountIcebergRest(app, context)
  mountRoutes(app, allRoutes(context))
  return app
}
