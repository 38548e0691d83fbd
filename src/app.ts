import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { DomainError } from './domain/errors.ts'
import type { AppEnv } from './middleware/app-env.ts'
import { auditRefusals } from './middleware/audit-refusals.ts'
import { authenticate } from './middleware/authenticate.ts'
import { crossOrigin } from './middleware/cross-origin.ts'
import { createErrorHandler } from './middleware/error-handler.ts'
import { frontend, type StaticFiles } from './middleware/frontend.ts'
import { limitHeaders } from './middleware/header-limit.ts'
import { HttpError } from './middleware/http-error.ts'
import { idempotency } from './middleware/idempotency.ts'
import { mountNotebookHosts, mountNotebookProxy, type NotebookMount } from './middleware/notebook-mount.ts'
import { originGuard } from './middleware/origin-guard.ts'
import { requestLog } from './middleware/request-log.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { type McpRouteDeps, mountMcp } from './routes/mcp-route.ts'
import { mountRoutes } from './routes/mount-routes.ts'
import { allRoutes, type RouteDeps } from './routes/all-routes.ts'
import type { IdempotencyService } from './services/idempotency-service.ts'
import type { Logger } from './services/logger.ts'
import type { RefusalLog } from './services/refusal-log.ts'

/** Everything the app needs; `context.ts` makes it. */
export interface AppContext extends RouteDeps, McpRouteDeps {
  readonly log: Logger
  readonly authMode: 'token' | 'off'
  readonly allowedOrigins: readonly string[]
  readonly refusals: RefusalLog
  readonly newRequestId: () => string
  readonly idempotency: IdempotencyService
  readonly staticFiles: StaticFiles
  readonly notebookProxy: NotebookMount
}

const MAX_BODY_BYTES = 2 ** 20
/** An exported document may be longer than the request that it came from, and it imports as it is. */
const MAX_IMPORT_BYTES = 10 * 2 ** 20
const IMPORT_PATH = '/api/pipeline-defs/import'

/** The whole service as one fetch handler; it does no I/O of its own, so any host can embed it. */
export function createApp(context: AppContext): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  app.onError(createErrorHandler(context.log))
  app.notFound((c) => {
    throw new DomainError('NOT_FOUND', `no route ${c.req.path}`)
  })
  app.use(requestLog(context))
  app.use(securityHeaders())
  app.use(auditRefusals(context.refusals))
  app.use(limitHeaders())
  const { authMode: mode, identity, allowedOrigins, log } = context
  const notebooks = { ...context.notebookProxy, mode, identity, allowedOrigins, log }
  mountNotebookHosts(app, notebooks)
  app.use(frontend(context.staticFiles))
  app.use('/api/*', crossOrigin(allowedOrigins))
  app.use('/mcp', crossOrigin(allowedOrigins))
  app.use('/api/*', authenticate({ mode: context.authMode, identity: context.identity }))
  app.use('/api/*', originGuard({ mode: context.authMode, allowedOrigins: context.allowedOrigins }))
  const limitBody = limitBodyTo(MAX_BODY_BYTES)
  const limitImport = limitBodyTo(MAX_IMPORT_BYTES)
  app.use('/api/*', (c, next) => {
    if (c.req.method === 'GET') return next()
    return c.req.path === IMPORT_PATH ? limitImport(c, next) : limitBody(c, next)
  })
  app.use('/api/*', idempotency(context.idempotency))
  mountNotebookProxy(app, notebooks)
  mountMcp(app, context)
  mountRoutes(app, allRoutes(context))
  return app
}

function limitBodyTo(maxSize: number) {
  return bodyLimit({
    maxSize,
    onError() {
      throw new HttpError(413, 'PAYLOAD_TOO_LARGE', `the body may have at most ${maxSize} bytes`)
    },
  })
}
