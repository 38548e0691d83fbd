import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'

import { createNodeSockets, type NodeSockets } from './node-sockets.ts'
import { type EmbeddedHost, type EmbedOptions, remoteAddressOf } from './embedded-host.ts'
import {
  answerSafely,
  MAX_HEADER_BYTES,
  DEFAULT_HOST,
  MAX_SOCKET_MESSAGE_BYTES,
  type RunningServer,
  type ServeOptions,
} from './http-server.ts'
import type { Runtime } from './runtime.ts'
import { UpgradeOffer } from './sockets.ts'
import { sqliteDialect } from '../storage/dialects/sqlite.ts'

const IDLE_SWEEP_MS = 50

/** Node 24 and newer: `@hono/node-server` over `node:http`, and `node:sqlite`. */
export const nodeRuntime: Runtime = {
  name: 'node',
  openStateFile: sqliteDialect,
  serve: serveWithNode,
  embed: embedInNode,
}

async function serveWithNode(options: ServeOptions): Promise<RunningServer> {
  const listener = getRequestListener(
    (request, env) => answerSafely(options, request, { remoteAddress: env.incoming.socket.remoteAddress }),
    { hostname: DEFAULT_HOST },
  )
  const sockets = openSockets(options)
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, shouldUpgradeCallback: asksForWebSocket },
    (incoming, outgoing) => {
      void listener(incoming, outgoing)
    },
  )
  // The default of 5 min would cut long uploads; headers have a separate limit.
  server.requestTimeout = 0
  server.on('upgrade', (incoming, socket, head) => answerUpgrade(options, sockets, { incoming, socket, head }))
  await listen(server, options)
  return {
    port: listeningPort(server),
    async stop(graceful) {
      const stopped = stop(server, graceful)
      await sockets.stop(graceful)
      await stopped
    },
  }
}

function embedInNode(options: EmbedOptions): EmbeddedHost {
  const sockets = openSockets(options)
  return {
    fetch: async (request, host) => answerSafely(options, request, { remoteAddress: remoteAddressOf(host) }),
    upgrade: (incoming, socket, head) => answerUpgrade(options, sockets, { incoming, socket, head }),
    websocket: undefined,
    stop: () => sockets.stop(true),
  }
}

function openSockets({ maxSocketMessageBytes, onError }: EmbedOptions): NodeSockets {
  return createNodeSockets({ maxPayload: maxSocketMessageBytes ?? MAX_SOCKET_MESSAGE_BYTES, onError })
}

function asksForWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

interface UpgradeRequest {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

/** Lets the app handle the request, and opens the socket if it accepts the upgrade. */
function answerUpgrade(options: EmbedOptions, sockets: NodeSockets, { incoming, socket, head }: UpgradeRequest): void {
  const destroy = (): void => void socket.destroy()
  socket.on('error', destroy)
  if (!asksForWebSocket(incoming)) return destroy() // only Node before 24.9 comes here
  const outgoing = new ServerResponse(incoming)
  outgoing.shouldKeepAlive = false
  outgoing.assignSocket(incoming.socket)
  // Nothing reads this socket any more: unread data would keep it open and block shutdown.
  outgoing.once('finish', () => incoming.socket.destroySoon())
  const listener = getRequestListener(async (request) => {
    const offer = new UpgradeOffer()
    const { remoteAddress } = incoming.socket
    const response = await answerSafely(options, request, { remoteAddress, upgrade: offer.upgrade })
    const accepted = offer.taken(response)
    if (accepted === undefined) return response
    outgoing.detachSocket(incoming.socket)
    socket.off('error', destroy)
    sockets.accept({ incoming, socket, head }, accepted)
    return RESPONSE_ALREADY_SENT
  })
  void listener(incoming, outgoing)
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
    // Idle keep-alive connections would make close() wait for their timeout.
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
    // The only possible error is that the server has already stopped.
    server.close(() => {
      clearInterval(sweep)
      resolve()
    })
    if (!graceful) server.closeAllConnections()
  })
}
