import { answerSafely, type RunningServer, type Runtime, type ServeOptions } from './runtime.ts'
import { sqliteDialect } from './sqlite.ts'
import { createWebhookSender } from './webhook-sender.ts'

/** The part of `Bun.serve`'s server that is used here. */
interface BunServer {
  readonly port: number
  requestIP(request: Request): { readonly address: string } | null
  stop(closeActiveConnections: boolean): Promise<void>
}

/** Declared here because the global types of Bun would make code elsewhere look portable that is not. */
declare const Bun: {
  serve(options: {
    readonly fetch: (request: Request, server: BunServer) => Promise<Response>
    readonly error: (error: unknown) => Response
    readonly hostname: string
    readonly port: number
    readonly idleTimeout: number
    readonly development: boolean
    readonly reusePort: boolean
  }): BunServer
}

/** Bun: `Bun.serve` and Bun's `node:sqlite`. */
export const bunRuntime: Runtime = {
  name: 'bun',
  openSqlite: sqliteDialect,
  createWebhookSender,
  openPostgres: async (url) => (await import('./postgres.ts')).postgresDialect(url),
  serve: serveWithBun,
}

async function serveWithBun(options: ServeOptions): Promise<RunningServer> {
  const server = Bun.serve({
    fetch: (request, self) => answerSafely(options, request, { remoteAddress: self.requestIP(request)?.address }),
    error: (error) => {
      options.onError?.(error)
      return new Response('Internal Server Error', { status: 500 })
    },
    hostname: options.hostname,
    port: options.port,
    idleTimeout: 0, // the default cuts a quiet event stream after 10 s
    development: false,
    reusePort: false, // without this, development: false lets a second process listen on the same port
  })
  return { port: server.port, stop: (graceful) => server.stop(!graceful) }
}
