import { createServer, type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

import { getRequestListener, RequestError } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'

import { createNodeSockets, type NodeSockets } from './node-sockets.ts'
import { type EmbeddedHost, type EmbedOptions, remoteAddressOf } from './embedded-host.ts'
import {
  answerSafely,
  bareAnswer,
  MAX_HEADER_BYTES,
  DEFAULT_HOST,
  MAX_SOCKET_MESSAGE_BYTES,
  type RunningServer,
  type ServeOptions,
} from './http-server.ts'
import { BARE_ANSWER_HEADERS } from '../middleware/security-headers.ts'
import type { Upgrade } from '../middleware/connection/server-socket.ts'
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

const LISTENER_OPTIONS = {
  hostname: DEFAULT_HOST,
  errorHandler: (error: unknown) => bareAnswer(error instanceof RequestError ? 400 : 500),
}

/** By the codes of `node:http`; every other error is a malformed request. */
const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

async function serveWithNode(options: ServeOptions): Promise<RunningServer> {
  const listener = getRequestListener(
    (request, { incoming }) => answerIncoming(options, request, { incoming }),
    LISTENER_OPTIONS,
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
  server.on('clientError', answerClientError)
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

interface IncomingRequest {
  readonly incoming: {
    readonly url?: string | undefined
    readonly socket: { readonly remoteAddress?: string | undefined }
  }
  readonly upgrade?: Upgrade
}

/** Lets the app answer a request, unless its target has a user name: no `Request` can be made of such a URL. */
function answerIncoming(
  options: EmbedOptions,
  request: Request,
  { incoming: { url = '', socket }, ...offer }: IncomingRequest,
): Response | Promise<Response> {
  if (!url.startsWith('/') && /^https?:\/\/[^/?#]*@/i.test(url)) return bareAnswer(400)
  return answerSafely(options, request, { remoteAddress: socket.remoteAddress, ...offer })
}

/** Answers a request that `node:http` cannot read; its own answer would have no headers. */
function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = CLIENT_ERRORS[error.code ?? ''] ?? 400
  const headers = { ...BARE_ANSWER_HEADERS, 'Content-Length': '0', Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`)
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
    const response = await answerIncoming(options, request, { incoming, upgrade: offer.upgrade })
    const accepted = offer.taken(response)
    if (accepted === undefined) return response
    outgoing.detachSocket(incoming.socket)
    socket.off('error', destroy)
    sockets.accept({ incoming, socket, head }, accepted)
    return RESPONSE_ALREADY_SENT
  }, LISTENER_OPTIONS)
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
