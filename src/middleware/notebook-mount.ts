import type { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { AppEnv } from './app-env.ts'
import { authenticate, type AuthenticateOptions } from './authenticate.ts'
import { elsewhere, identifyOnHost, type NotebookOrigins, onNotebookHosts } from './notebook-host.ts'
import { notebookPages } from './notebook-pages.ts'
import {
  type AvailableTargets,
  type NotebookProxyDeps,
  notebookProxy,
  type NotebookProxyOptions,
} from './notebook-proxy.ts'

/** Everything about the way to notebooks. */
export interface NotebookMount extends NotebookProxyDeps {
  /** Hosts of notebooks; undefined: they stand under the service's own, below `/notebook/`. */
  readonly origins?: NotebookOrigins | undefined
}

export interface NotebookMountOptions extends NotebookMount, AuthenticateOptions, Pick<NotebookProxyOptions, 'log'> {
  readonly allowedOrigins: readonly string[]
}

/** Mounts the hosts of notebooks, where they have some: before all else, for nothing of the service stands on them. */
export function mountNotebookHosts(app: Hono<AppEnv>, options: NotebookMountOptions): void {
  const { origins, targets } = options
  if (origins === undefined) return
  const rules = { ...options, isolation: 'host', allowedOrigins: new Set<string>() } as const
  const steps = [notebookPages(), requireCluster(targets), identifyOnHost(origins), notebookProxy(rules)]
  for (const step of steps) app.use(onNotebookHosts(origins, step))
}

/** Mounts what stands below `/notebook/` on the service's own host. */
export function mountNotebookProxy(app: Hono<AppEnv>, options: NotebookMountOptions): void {
  const { origins, targets } = options
  // JupyterLab finds the token of its server in its page, and shows it with every request; here it is no credential.
  const identify = authenticate({ ...options, foreignScheme: 'token' })
  const proxy = notebookProxy({
    ...options,
    isolation: 'path',
    allowedOrigins: new Set(options.allowedOrigins),
    ...(origins === undefined ? {} : { elsewhere: elsewhere(origins) }),
  })
  app.use('/notebook/*', notebookPages(), requireCluster(targets), identify, proxy)
}

function requireCluster(targets: AvailableTargets) {
  return createMiddleware<AppEnv>(async function existWithCluster(c, next) {
    if (!targets.available()) throw new DomainError('NOT_FOUND', `no route ${c.req.path}`)
    await next()
  })
}
