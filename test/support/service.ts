import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { parseConfig } from '../../src/config/config.ts'
import { type Context, type ContextOptions, createContext } from '../../src/context/create-context.ts'
import { createDuckDbEngine } from '../../src/engines/duckdb/duckdb-engine.ts'
import type { ConnectionInfo } from '../../src/middleware/connection/info.ts'
import { prepareHome } from '../../src/server/home.ts'
import { detectRuntime } from '../../src/server/detect-runtime.ts'
import { allRoutes } from '../../src/routes/all-routes.ts'
import { type EventsShape, makeEvents } from '../../src/services/catalogs/demo-lakehouse.ts'
import { createLogger } from '../../src/services/logger.ts'
import { migratedState } from './state/migrated-state.ts'
import { openApiCheck } from './openapi-check.ts'

export const ADMIN_TOKEN = 'lh_test-admin-token-0123456789'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers freely
  readonly body: any
}

export interface CallOptions {
  readonly body?: unknown
  /** Raw text instead of JSON. */
  readonly text?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  /** `null`: no credential. */
  readonly token?: string | null
  /** Address of the client, as the runtime tells it; default: unknown. */
  readonly remoteAddress?: string
}

/** The app, and requests to it by path. */
export interface TestApp {
  readonly fetch: (request: Request, connection: ConnectionInfo) => Promise<Response>
  request(path: string, init?: RequestInit, connection?: ConnectionInfo): Promise<Response>
}

/** An app with requests by path, to a host that the runtime would name. */
export function testApp({ fetch }: ReturnType<typeof createApp>): TestApp {
  return {
    fetch: async (request, connection) => fetch(request, connection),
    request: async (path, init, connection = {}) =>
      fetch(new Request(new URL(path, 'http://localhost').href, init), connection),
  }
}

/**
 * The real service in this process over a folder of its own: real SQLite, real files, real engine; no sockets.
 * Every JSON answer is held against the OpenAPI document.
 */
export interface TestService {
  readonly app: TestApp
  readonly context: Context
  readonly folder: string
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  get(path: string, options?: CallOptions): Promise<Answer>
  post(path: string, body: unknown, options?: CallOptions): Promise<Answer>
  /** Stops and starts again on the same folder. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface TestServiceOptions {
  /** Makes `demo.events` of this shape. */
  readonly events?: EventsShape
  readonly env?: Readonly<Record<string, string>>
  /** Receives each line of the log. */
  readonly onLog?: (line: string) => void
  /** Without `automation`, health index and policies do not run. */
  readonly overrides?: ContextOptions['overrides']
  /** Folder to make the service's own folder in; default: that for temporary files. */
  readonly parent?: string
  /** Called when the service is closed, to remove what its environment named. */
  readonly onClose?: () => Promise<void>
}

/** Starts a {@link TestService}. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = await mkdtemp(join(options.parent ?? tmpdir(), 'lockhouse-service-'))
  const env = { LOCKHOUSE_HOME: join(folder, 'home'), LOCKHOUSE_ADMIN_TOKEN: ADMIN_TOKEN, ...options.env }
  let { app, context } = await open(env, options)
  if (options.events) await makeEventsTable(context, folder, options.events)
  const check = openApiCheck(allRoutes(context.app))
  const call = async (method: string, path: string, given: CallOptions = {}): Promise<Answer> => {
    const token = given.token === undefined ? ADMIN_TOKEN : given.token
    const body = given.text ?? (given.body === undefined ? undefined : JSON.stringify(given.body))
    const init = {
      method,
      headers: {
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...given.headers,
      },
      ...(body === undefined ? {} : { body }),
    }
    const response = await app.request(path, init, { remoteAddress: given.remoteAddress })
    const text = await response.text()
    const json = /[/+]json\b/.test(response.headers.get('content-type') ?? '') && text !== ''
    const parsed = json ? JSON.parse(text) : text
    const contentType = response.headers.get('content-type') ?? ''
    check({ method, path, status: response.status, contentType, body: parsed })
    return { status: response.status, headers: response.headers, body: parsed }
  }
  return {
    get app() {
      return app
    },
    get context() {
      return context
    },
    folder,
    call,
    get: (path, given) => call('GET', path, given),
    post: (path, body, given) => call('POST', path, { ...given, body }),
    async restart() {
      await context.close()
      ;({ app, context } = await open(env, options))
    },
    async close() {
      await context.close()
      await rm(folder, { recursive: true, force: true })
      await options.onClose?.()
    },
  }
}

async function makeEventsTable(context: Context, folder: string, shape: EventsShape): Promise<void> {
  const engine = await createDuckDbEngine({ scratchDir: join(folder, 'scratch') })
  const catalog = context.app.catalog.current()
  await catalog.createNamespace(['demo'])
  await makeEvents({ catalog, engine, log: createLogger('silent', () => undefined) }, 'events', shape)
  await engine.close()
}

async function open(env: Readonly<Record<string, string>>, options: TestServiceOptions) {
  const config = parseConfig({ LOG_LEVEL: 'silent', ...env })
  const home = await prepareHome(config.home)
  if (home.isNew && config.databaseUrl === undefined) await writeFile(home.stateDatabase, await migratedState())
  const context = await createContext({
    config,
    env,
    openStateFile: (await detectRuntime()).openStateFile,
    home,
    log: createLogger(config.logLevel, options.onLog ?? (() => undefined)),
    overrides: { automation: { isPaused: true }, ...options.overrides },
  })
  await context.reconcile()
  context.startBackground()
  await context.makeDemo()
  return { context, app: testApp(createApp({ ...context.app, staticFiles: async () => undefined })) }
}
