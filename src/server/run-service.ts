import { ConfigError } from '../config/config-error.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import type { ContextOptions } from '../context/create-context.ts'
import { createLogger, type Logger } from '../services/logger.ts'
import { createLineWriter } from './line-writer.ts'
import type { RunningServer, ServeOptions } from './http-server.ts'
import { MAX_SERVICE_MESSAGE_BYTES, openService, type ServiceBundle } from './open-service.ts'
import type { Runtime } from './runtime.ts'

export interface RunServiceOptions {
  readonly config: Config
  readonly env: Env
  readonly runtime: Runtime
  /** What one executable brings along; otherwise the files next to the source are used. */
  readonly bundle?: ServiceBundle
  /** Replaces parts in tests. */
  readonly overrides?: NonNullable<ContextOptions['overrides']>
}

/** How long a graceful stop waits for running work, other than the creation of the demo tables, which would stay incomplete. */
const SHUTDOWN_LIMIT_MS = 20_000

/** Runs the service until SIGTERM or SIGINT; a second signal exits immediately. Resolves when it listens. */
export async function runService({ config, env, runtime, bundle, overrides = {} }: RunServiceOptions): Promise<void> {
  const log = createLogger(config.logLevel, createLineWriter())
  const { context, fetch } = await openService({ config, env, runtime, log, bundle, overrides })
  const server = await listen(runtime, {
    config,
    fetch,
    onError: (error) => log.error('unhandled error', { error }),
  })
  let stopping = false
  let demo = Promise.resolve()
  const stop = (signal: string): void => {
    if (stopping) process.exit(1)
    stopping = true
    log.info('stopping', { signal })
    void demo.finally(() => setTimeout(() => exitLate(log), SHUTDOWN_LIMIT_MS).unref())
    shutDown(server, () => context.close()).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('stop failed', { error })
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  context.startBackground()
  demo = context.makeDemo()
  await demo
  if (!stopping) announce(config, server.port, context.firstToken)
}

function exitLate(log: Logger): void {
  log.error('running work did not end in time: the process ends without it', { limit_ms: SHUTDOWN_LIMIT_MS })
  process.exit(1)
}

async function shutDown(server: RunningServer, close: () => Promise<void>): Promise<void> {
  const answered = server.stop(true)
  await close()
  await answered
}

interface ListenOptions {
  readonly config: Config
  readonly fetch: ServeOptions['fetch']
  readonly onError: (error: unknown) => void
}

async function listen(runtime: Runtime, { config, fetch, onError }: ListenOptions): Promise<RunningServer> {
  try {
    return await runtime.serve({
      fetch,
      hostname: config.host,
      port: config.port,
      onError,
      maxSocketMessageBytes: MAX_SERVICE_MESSAGE_BYTES,
    })
  } catch (error) {
    throw listenProblem(config, error) ?? error
  }
}

/** Undefined for an error that is not about the address. */
function listenProblem({ port, host }: Config, error: unknown): ConfigError | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined
  if (error.code === 'EADDRINUSE') return new ConfigError(`PORT ${port} on HOST ${host} is in use by another process`)
  if (error.code === 'EACCES') return new ConfigError(`this user may not listen on PORT ${port} of HOST ${host}`)
  const isAboutHost = 'syscall' in error && ['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall))
  if (!isAboutHost) return undefined
  return new ConfigError(
    `HOST ${host} is not an address of this machine, or cannot be resolved (${String(error.code)})`,
  )
}

function announce(config: Config, port: number, firstToken: string | undefined): void {
  const host = config.host === '127.0.0.1' ? 'localhost' : config.host
  const base = `http://${host}:${port}${config.basePath}/`
  if (config.authMode === 'off') {
    console.log('WARNING: AUTH_MODE=off, every caller is LeadDataEngineer')
  }
  console.log(`Lockhouse is ready: ${firstToken === undefined ? base : `${base}#token=${firstToken}`}`)
}
