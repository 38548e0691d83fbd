import http from 'node:http'

import { scriptWorker } from '../engines/duckdb/worker/worker-command.ts'
import { createNotebookUpstream } from './notebook-upstream.ts'
import {
  answerSafely,
  MAX_HEADER_BYTES,
  DEFAULT_HOST,
  MAX_SOCKET_MESSAGE_BYTES,
  type RunningServer,
  type Runtime,
  type ServeOptions,
} from './runtime.ts'
import { type AcceptedUpgrade, type Connection, OpenSockets, type RawSocket, UpgradeOffer } from './sockets.ts'
import { sqliteDialect } from './sqlite.ts'
import { createModelFetch } from './model-fetch.ts'
import { createWebhookSender } from './webhook-sender.ts'

/** The part of `Bun.serve`'s server that is used here. */
interface BunServer {
  readonly port: number
  requestIP(request: Request): { readonly address: string } | null
  /** False when the request is no proper upgrade. */
  upgrade(request: Request, options: { readonly data: SocketData; readonly headers: Record<string, string> }): boolean
  stop(closeActiveConnections: boolean): Promise<void>
}

/** What Bun keeps for each socket. */
interface SocketData {
  readonly accepted: AcceptedUpgrade
  connection?: Connection
}

/** The part of Bun's `ServerWebSocket` that is used here. */
interface BunSocket {
  readonly data: SocketData
  send(data: string | Uint8Array): number
  cork(work: () => void): void
  ping(): number
  close(code?: number, reason?: string): void
  terminate(): void
  pause(): void
  resume(): void
  getBufferedAmount(): number
}

interface BunSocketHandler {
  readonly maxPayloadLength: number
  readonly backpressureLimit: number
  readonly closeOnBackpressureLimit: boolean
  readonly idleTimeout: number
  readonly sendPings: boolean
  readonly perMessageDeflate: boolean
  readonly open: (socket: BunSocket) => void
  readonly message: (socket: BunSocket, data: string | Uint8Array) => void
  readonly pong: (socket: BunSocket) => void
  readonly drain: (socket: BunSocket) => void
  readonly close: (socket: BunSocket, code: number, reason: string) => void
}

/** Bun drops what is queued beyond this; the app has to look at `bufferedBytes` long before. */
const BACKPRESSURE_LIMIT = 64 * 2 ** 20

/** Declared here because the global types of Bun would make code elsewhere look portable that is not. */
declare const Bun: {
  serve(options: {
    readonly fetch: (request: Request, server: BunServer) => Promise<Response | undefined>
    readonly websocket: BunSocketHandler
    readonly error: (error: unknown) => Response
    readonly hostname: string
    readonly port: number
    readonly idleTimeout: number
    readonly maxRequestBodySize: number
    readonly development: boolean
    readonly reusePort: boolean
  }): BunServer
}

/** Bun: `Bun.serve` and Bun's `node:sqlite`. */
export const bunRuntime: Runtime = {
  name: 'bun',
  openSqlite: sqliteDialect,
  workerCommand: scriptWorker(),
  createWebhookSender,
  createNotebookUpstream,
  createModelFetch,
  openPostgres: async (server) => (await import('./postgres.ts')).postgresDialect(server),
  serve: serveWithBun,
}

async function serveWithBun(options: ServeOptions): Promise<RunningServer> {
  const sockets = new OpenSockets(options.onError)
  // Bun.serve takes its limit from here; the types of Node say that it cannot be set.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES })
  const server = Bun.serve({
    fetch: (request, self) => answer(options, request, self),
    websocket: socketHandler(sockets, options.maxSocketMessageBytes ?? MAX_SOCKET_MESSAGE_BYTES),
    error: (error) => {
      options.onError?.(error)
      return new Response('Internal Server Error', { status: 500 })
    },
    hostname: options.hostname,
    port: options.port,
    idleTimeout: 0, // the default cuts a quiet event stream after 10 s
    maxRequestBodySize: Number.MAX_SAFE_INTEGER, // the app says what is too much where it reads a body
    development: false,
    reusePort: false, // without this, development: false lets a second process listen on the same port
  })
  return {
    port: server.port,
    async stop(graceful) {
      const stopped = server.stop(!graceful)
      await sockets.stop(graceful)
      await stopped
    },
  }
}

async function answer(options: ServeOptions, request: Request, server: BunServer): Promise<Response | undefined> {
  const remoteAddress = server.requestIP(request)?.address
  if (!asksForWebSocket(request)) {
    const addressed = withUrl(request)
    return endingUnreadBody(addressed, await answerSafely(options, addressed, { remoteAddress }))
  }
  const offer = new UpgradeOffer()
  const response = await answerSafely(options, request, { remoteAddress, upgrade: offer.upgrade })
  const accepted = offer.taken(response)
  if (accepted === undefined) return response
  // Left to itself, Bun selects the first subprotocol that is offered.
  const headers = { 'Sec-WebSocket-Protocol': accepted.protocol ?? '' }
  if (server.upgrade(request, { data: { accepted }, headers })) return undefined
  return new Response('Bad Request', { status: 400 })
}

/** The request under a URL that parses: Bun makes one of any `Host`, and has only the path without one (HTTP/1.0). */
function withUrl(request: Request): Request {
  if (URL.canParse(request.url)) return request
  return new Request(`http://${DEFAULT_HOST}${request.url.replace(/^https?:\/\/[^/]*/, '')}`, request)
}

/** Bun keeps a connection open until the body has arrived, even when nobody waits for it. */
function endingUnreadBody(request: Request, response: Response): Response {
  const { headers } = request
  const hasBody = headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0
  if (!hasBody || request.bodyUsed) return response
  const ending = new Response(response.body, response)
  ending.headers.set('Connection', 'close')
  return ending
}

/** As Node decides it: a GET that says so in both headers (RFC 6455, section 4.2.1). */
function asksForWebSocket({ method, headers }: Request): boolean {
  if (method !== 'GET' || headers.get('upgrade')?.toLowerCase() !== 'websocket') return false
  return /(^|,)\s*upgrade\s*(,|$)/i.test(headers.get('connection') ?? '')
}

function socketHandler(sockets: OpenSockets, maxPayloadLength: number): BunSocketHandler {
  return {
    maxPayloadLength,
    backpressureLimit: BACKPRESSURE_LIMIT,
    closeOnBackpressureLimit: true,
    idleTimeout: 0, // the app looks for signs of life itself
    sendPings: false,
    perMessageDeflate: false,
    open: (socket) => {
      const connection = sockets.add(rawSocket(socket), socket.data.accepted)
      socket.data.connection = connection
      connection.opened()
    },
    message: (socket, data) => socket.data.connection?.message(data),
    pong: (socket) => socket.data.connection?.ponged(),
    drain: (socket) => socket.data.connection?.drained(),
    close: (socket, code, reason) => socket.data.connection?.closed(code, reason),
  }
}

function rawSocket(socket: BunSocket): RawSocket {
  return {
    bufferedBytes: () => socket.getBufferedAmount(),
    send: (data) => void socket.send(data),
    together: (work) => socket.cork(work),
    ping: () => void socket.ping(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.close(code, reason),
    terminate: () => socket.terminate(),
  }
}
