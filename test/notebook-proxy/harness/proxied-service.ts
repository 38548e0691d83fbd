import { createApp } from '../../../src/app.ts'
import { belowBasePath } from '../../../src/middleware/base-path.ts'
import type { AvailableTargets } from '../../../src/notebook-proxy/http/forward.ts'
import type { NotebookTarget } from '../../../src/notebooks/target.ts'
import type { RelaySettings } from '../../../src/notebook-proxy/socket/relay.ts'
import type { NotebookUpstreamOptions } from '../../../src/notebook-proxy/http/upstream-client.ts'
import { createNotebookUpstream } from '../../../src/notebook-proxy/http/upstream-client.ts'
import { detectRuntime } from '../../../src/server/detect-runtime.ts'
import type { RunningServer } from '../../../src/server/http-server.ts'
import { type Logger, createLogger } from '../../../src/services/logger.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../../support/service.ts'

/** An in-memory target port: which users have a notebook, and where. */
export class KnownTargets implements AvailableTargets {
  exist = true
  readonly byUser = new Map<string, NotebookTarget>()
  readonly touches: string[] = []

  available(): boolean {
    return this.exist
  }

  targetOf(user: string): Promise<NotebookTarget | undefined> {
    return Promise.resolve(this.byUser.get(user))
  }

  touched(user: string): void {
    this.touches.push(user)
  }
}

/** A user with a token and a session. */
export interface Visitor {
  readonly user: string
  readonly token: string
  readonly tokenId: string
  /** `name=value` of the session cookie. */
  readonly cookie: string
}

export interface ProxiedServiceOptions {
  readonly upstream?: NotebookUpstreamOptions
  readonly relay?: Partial<RelaySettings>
  /** Default: notebooks share the service's origin, unless that is not allowed with these settings. */
  readonly env?: Readonly<Record<string, string>>
  /** Receives log lines. */
  readonly log?: string[]
  /** Default: a free port. */
  readonly port?: number
  readonly overrides?: TestServiceOptions['overrides']
}

/** The real service on a loopback port, proxying to notebooks named by the test. */
export interface ProxiedService {
  readonly port: number
  /** Its origin, as in the `Origin` header. */
  readonly origin: string
  readonly targets: KnownTargets
  readonly service: TestService
  visitor(user: string, role?: string): Promise<Visitor>
  close(): Promise<void>
}

/** A replacement for the service's page. */
const PAGE = { bytes: new TextEncoder().encode('the page'), contentType: 'text/html', etag: '"x"' }

export const NOTEBOOK_TOKEN = 'notebook-secret-0123456789'

export async function startProxiedService(options: ProxiedServiceOptions = {}): Promise<ProxiedService> {
  const { overrides } = options
  const env = { ...isolationOf(options.env), ...options.env }
  const service = await startTestService({ env, ...(overrides ? { overrides } : {}) })
  const runtime = await detectRuntime()
  const targets = new KnownTargets()
  const log: Logger = createLogger(options.log === undefined ? 'silent' : 'debug', (line) => options.log?.push(line))
  const app = createApp({
    ...service.context.app,
    log,
    staticFiles: async (path) => (path === '/index.html' ? PAGE : undefined),
    notebookProxy: {
      ...service.context.app.notebookProxy,
      targets,
      upstream: createNotebookUpstream(options.upstream),
      ...(options.relay === undefined ? {} : { relay: options.relay }),
    },
  })
  const server: RunningServer = await runtime.serve({
    hostname: '127.0.0.1',
    port: options.port ?? 0,
    fetch: belowBasePath(service.context.app.notebookProxy.basePath, app.fetch),
    maxSocketMessageBytes: 64 * 2 ** 20,
    onError: (error) => log.error('unhandled', { error }),
  })
  return {
    port: server.port,
    origin: `http://127.0.0.1:${server.port}`,
    targets,
    service,
    visitor: (user, role = 'DataEngineer') => visitor(service, user, role),
    async close() {
      await server.stop(false)
      await service.close()
    },
  }
}

/** Most tests of the proxy look at the service's own host. */
function isolationOf(env: ProxiedServiceOptions['env'] = {}): Readonly<Record<string, string>> {
  const needsHosts = env['AUTH_MODE'] === 'off' || env['NOTEBOOK_HOST_TEMPLATE'] !== undefined
  return { NOTEBOOK_ISOLATION: needsHosts ? 'host' : 'path' }
}

async function visitor(service: TestService, user: string, role: string): Promise<Visitor> {
  const made = await service.post('/api/auth/tokens', { user, role, name: `of ${user}` })
  if (made.status !== 201) throw new Error(`no token for ${user}: ${made.status}`)
  const { id, token } = made.body as { id: string; token: string }
  const opened = await service.post('/api/auth/session', { token }, { token: null })
  const cookie = opened.headers.get('set-cookie')?.split(';')[0]
  if (cookie === undefined) throw new Error(`no session for ${user}: ${opened.status}`)
  return { user, token, tokenId: id, cookie }
}
