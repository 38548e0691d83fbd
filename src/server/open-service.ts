import { resolve } from 'node:path'
import { createApp } from '../app.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import { type Context, type ContextOptions, createContext } from '../context/create-context.ts'
import type { WorkerCommand } from '../engines/duckdb/worker/worker-command.ts'
import { belowBasePath, type Fetch } from '../middleware/base-path.ts'
import type { StaticFiles } from '../middleware/frontend.ts'
import type { Logger } from '../services/logger.ts'
import { prepareHome } from './home.ts'
import { pageBelow } from './page-below.ts'
import type { Runtime } from './runtime.ts'
import { hasIndex, openStaticFiles } from './static-files.ts'

/** The parts of the service that are files in a checkout. */
export interface ServiceBundle {
  readonly staticFiles: StaticFiles
  readonly workerCommand: WorkerCommand
}

export interface OpenServiceOptions {
  readonly config: Config
  readonly env: Env
  readonly runtime: Runtime
  readonly log: Logger
  /** What one executable brings along; otherwise the files next to the source are used. */
  readonly bundle?: ServiceBundle | undefined
  /** Replaces parts in tests. */
  readonly overrides?: ContextOptions['overrides']
}

/** A service that answers requests and has not begun its background work. */
export interface OpenService {
  readonly context: Context
  readonly fetch: Fetch
}

/** Kernel messages may contain images or tables; other sockets have much lower limits of their own. */
export const MAX_SERVICE_MESSAGE_BYTES = 64 * 2 ** 20

/** Opens the state, settles what a crash left, and creates the app below its base path. */
export async function openService({ bundle, overrides, ...options }: OpenServiceOptions): Promise<OpenService> {
  const { config, log } = options
  const home = await prepareHome(config.home)
  const context = await createContext({
    ...options,
    openStateFile: options.runtime.openStateFile,
    home,
    ...(bundle === undefined ? {} : { workerCommand: bundle.workerCommand }),
    ...(overrides === undefined ? {} : { overrides }),
  })
  await context.reconcile()
  const staticFiles = pageBelow(config.basePath, await openPage(config, { log, bundle }))
  const app = createApp({ ...context.app, staticFiles })
  return { context, fetch: belowBasePath(config.basePath, (request, connection) => app.fetch(request, connection)) }
}

interface PageOptions {
  readonly log: Logger
  readonly bundle: ServiceBundle | undefined
}

/**
 * The page of FRONTEND_DIR, relative to the working directory; otherwise that of the bundle or next to `src`
 * (docs/api.md#web-page).
 */
async function openPage({ frontendDir }: Config, { log, bundle }: PageOptions): Promise<StaticFiles> {
  if (frontendDir !== undefined) {
    if (await hasIndex(frontendDir)) return openStaticFiles([resolve(frontendDir)])
    log.warn('FRONTEND_DIR has no index.html: the minimal page is served', { folder: frontendDir })
  }
  if (bundle !== undefined) return bundle.staticFiles
  const fallback = resolve(import.meta.dirname, '../../public')
  const built = resolve(import.meta.dirname, '../../frontend/dist')
  return openStaticFiles(frontendDir === undefined ? [built, fallback] : [fallback])
}
