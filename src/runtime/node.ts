import { createServer, type Server } from 'node:http'

import { getRequestListener } from '@hono/node-server'

import { answerSafely, type RunningServer, type Runtime, type ServeOptions } from './runtime.ts'
import { sqliteDialect } from './sqlite.ts'
import { createWebhookSender } from './webhook-sender.ts'

const IDLE_SWEEP_MS = 50

/** Node 24 and newer: `@hono/node-server` over `node:http`, and `node:sqlite`. */
export const nodeRuntime: Runtime = {
  name: 'node',
  openSqlite: sqliteDialect,
  createWebhookSender,
  openPostgres: async (url) => (await import('./postgres.ts')).postgresDialect(url),
  serve: serveWithNode,
}

async function serveWithNode(options: ServeOptions): Promise<RunningServer> {
  const listener = getRequestListener((request, env) =>
    answerSafely(options, request, { remoteAddress: env.incoming.socket.remoteAddress }),
  )
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  await listen(server, options)
  return { port: listeningPort(server), stop: (graceful) => stop(server, graceful) }
}

function listen(server: Server, options: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.hostname, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function listeningPort(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a TCP port')
  return address.port
}

function stop(server: Server, graceful: boolean): Promise<void> {
  return new Promise((resolve) => {
    // A connection that is kept alive turns idle after its last answer, and close() would wait for its timeout.
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
    // The only error is that the server was stopped before.
    server.close(() => {
      clearInterval(sweep)
      resolve()
    })
    if (!graceful) server.closeAllConnections()
  })
}
