import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { noCluster } from '../domain/errors.ts'
import type { AppEnv } from '../middleware/app-env.ts'
import { authenticate, type AuthenticateOptions } from '../middleware/authenticate.ts'
import { identifyOnHost, type NotebookOrigins, redirectToNotebookHost } from './admission/separate-host.ts'
import { notebookPages } from './http/pages.ts'
import {
  type AvailableTargets,
  type NotebookProxyDeps,
  notebookProxy,
  type NotebookProxyOptions,
} from './http/forward.ts'

/** Everything needed to proxy notebooks. */
export interface NotebookMount extends NotebookProxyDeps {
  /** Separate notebook hosts; undefined: notebooks are served on the service's host, below `/notebook/`. */
  readonly origins?: NotebookOrigins | undefined
}

export interface NotebookMountOptions extends NotebookMount, AuthenticateOptions, Pick<NotebookProxyOptions, 'log'> {
  readonly allowedOrigins: readonly string[]
}

/** The app of separate notebook hosts: it serves notebooks and nothing else. */
export function createNotebookHostApp(options: NotebookMountOptions, origins: NotebookOrigins): Hono<AppEnv> {
  const rules = { ...options, isolation: 'host', allowedOrigins: new Set<string>() } as const
  const app = new Hono<AppEnv>()
  app.use(
    '*',
    nameRoute,
    notebookPages(undefined),
    requireCluster(options.targets),
    identifyOnHost(origins, options),
    notebookProxy(rules),
  )
  return app
}

/** Mounts `/notebook/` on the service's own host. */
export function mountNotebookProxy(app: Hono<AppEnv>, options: NotebookMountOptions): void {
  const { origins, targets } = options
  // JupyterLab reads its server's token from its page and sends it with every request; it is not a credential here.
  const identify = authenticate({ ...options, foreignScheme: 'token' })
  const proxy = notebookProxy({
    ...options,
    isolation: 'path',
    allowedOrigins: new Set(options.allowedOrigins),
    ...(origins === undefined ? {} : { redirectToNotebookHost: redirectToNotebookHost(origins) }),
  })
  app.use('/notebook/*', nameRoute, notebookPages(options.basePath), requireCluster(targets), identify, proxy)
}

const nameRoute = createMiddleware<AppEnv>(async function nameNotebookRoute(c, next) {
  c.env.route = '/notebook/*'
  await next()
})

function requireCluster(targets: AvailableTargets) {
  return createMiddleware<AppEnv>(async function requireClusterMiddleware(_, next) {
    if (!targets.available()) throw noCluster()
    await next()
  })
}
