import http from 'node:http'

import {
  asksForWebSocket,
  type EmbeddedHost,
  type EmbedOptions,
  remoteAddressOf,
  type RequestHost,
} from './embedded-host.ts'
import {
  answerSafely,
  bareAnswer,
  MAX_HEADER_BYTES,
  DEFAULT_HOST,
  MAX_SOCKET_MESSAGE_BYTES,
  type RunningServer,
  type ServeOptions,
} from './http-server.ts'
import type { ConnectionInfo } from '../middleware/connection/info.ts'
import { HeaderMap } from '../middleware/connection/header-map.ts'
import type { Upgrade } from '../middleware/connection/server-socket.ts'
import type { Runtime } from './runtime.ts'
import { type AcceptedUpgrade, type Connection, OpenSockets, type RawSocket, UpgradeOffer } from './sockets.ts'
import { bunSqliteDialect } from '../storage/dialects/bun-sqlite.ts'

/** Data attached to each Bun socket. */
interface SocketData {
  readonly accepted: AcceptedUpgrade
  connection?: Connection
}

/** Bun drops what is queued beyond this; the app checks `bufferedBytes` long before. */
const BACKPRESSURE_LIMIT = 64 * 2 ** 20

/** Bun: `Bun.serve` and `bun:sqlite`. */
export const bunRuntime: Runtime = {
  name: 'bun',
  openStateFile: bunSqliteDialect,
  serve: serveWithBun,
  embed: embedInBun,
}

async function serveWithBun(options: ServeOptions): Promise<RunningServer> {
  const sockets = new OpenSockets(options.onError)
  // Bun.serve reads its limit from here; Node's types declare it read-only.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES })
  const server = Bun.serve({
    fetch: (request, self) => answer(options, request, self),
    websocket: socketHandler(sockets, options.maxSocketMessageBytes ?? MAX_SOCKET_MESSAGE_BYTES),
    error: (error) => {
      options.onError?.(error)
      return bareAnswer(500)
    },
    hostname: options.hostname,
    port: options.port,
    idleTimeout: 0, // the default closes a quiet event stream after 10 s
    maxRequestBodySize: Number.MAX_SAFE_INTEGER, // the app enforces limits when it reads a body
    development: false,
    reusePort: false, // without this, development: false lets a second process listen on the same port
  })
  return {
    port: server.port ?? options.port,
    async stop(graceful) {
      const stopped = server.stop(!graceful)
      await sockets.stop(graceful)
      await stopped
    },
  }
}

/** What a Bun server knows of a request's connection. */
class BunConnection implements ConnectionInfo {
  readonly #server: Bun.Server<SocketData>
  readonly #request: Request
  readonly headers: HeaderMap | undefined
  readonly upgrade: Upgrade | undefined

  constructor(server: Bun.Server<SocketData>, request: Request, { headers, upgrade }: Partial<ConnectionInfo>) {
    this.#server = server
    this.#request = request
    this.headers = headers
    this.upgrade = upgrade
  }

  /** Looking it up takes as long as routing a request, and not every request needs it. */
  get remoteAddress(): string | undefined {
    return this.#server.requestIP(this.#request)?.address
  }
}

function answer(
  options: EmbedOptions,
  request: Request,
  server: Bun.Server<SocketData>,
): Response | Promise<Response | undefined> {
  const headers = new HeaderMap(request.headers)
  if (asksForWebSocket(request, headers)) return answerUpgrade(options, request, server)
  const answered = answerSafely(options, withUrl(request), new BunConnection(server, request, { headers }))
  if (!hasBody(headers)) return answered
  return Promise.resolve(answered).then((response) => endingUnreadBody(request, response))
}

async function answerUpgrade(
  options: EmbedOptions,
  request: Request,
  server: Bun.Server<SocketData>,
): Promise<Response | undefined> {
  const offer = new UpgradeOffer()
  const response = await answerSafely(options, request, new BunConnection(server, request, offer))
  const accepted = offer.taken(response)
  if (accepted === undefined) return response
  // By default Bun selects the first offered subprotocol.
  const headers = { 'Sec-WebSocket-Protocol': accepted.protocol ?? '' }
  if (server.upgrade(request, { data: { accepted }, headers })) return undefined
  return bareAnswer(400)
}

function embedInBun(options: EmbedOptions): EmbeddedHost {
  const sockets = new OpenSockets(options.onError)
  return {
    async fetch(request, host) {
      if (!isBunServer(host)) return answerSafely(options, request, { remoteAddress: remoteAddressOf(host) })
      host.timeout(request, 0) // the default closes a quiet event stream after 10 s
      // Bun ignores the response to a request that was upgraded; other code in between expects one
      return (await answer(options, request, host)) ?? new Response()
    },
    upgrade: (_incoming, socket) => void socket.destroy(),
    websocket: socketHandler(sockets, options.maxSocketMessageBytes ?? MAX_SOCKET_MESSAGE_BYTES),
    stop: () => sockets.stop(true),
  }
}

function isBunServer(host: RequestHost | undefined): host is Bun.Server<SocketData> {
  return typeof host?.upgrade === 'function' && typeof host.requestIP === 'function'
}

/** The scheme and host of the last URL that was valid: those of most requests. */
let validOrigin = '\0'

/** The request with a valid URL: Bun accepts any `Host`, and gives only the path without one (HTTP/1.0). */
function withUrl(request: Request): Request {
  const { url } = request
  if (url.startsWith(validOrigin)) return request
  if (URL.canParse(url)) {
    validOrigin = `${new URL(url).origin}/`
    return request
  }
  return new Request(`http://${DEFAULT_HOST}${request.url.replace(/^https?:\/\/[^/]*/, '')}`, request)
}

function hasBody(headers: HeaderMap): boolean {
  return headers.get('transfer-encoding') !== undefined || Number(headers.get('content-length') ?? 0) > 0
}

/** Bun keeps a connection open until the body has arrived, even when nothing reads it. */
function endingUnreadBody(request: Request, response: Response): Response {
  if (request.bodyUsed) return response
  const ending = new Response(response.body, response)
  ending.headers.set('Connection', 'close')
  return ending
}

function socketHandler(sockets: OpenSockets, maxPayloadLength: number): Bun.WebSocketHandler<SocketData> {
  return {
    maxPayloadLength,
    backpressureLimit: BACKPRESSURE_LIMIT,
    closeOnBackpressureLimit: true,
    idleTimeout: 0, // the app sends its own pings
    sendPings: false,
    perMessageDeflate: false,
    open: (socket) => {
      const connection = sockets.add(rawSocket(socket), socket.data.accepted)
      socket.data.connection = connection
      connection.opened()
    },
    message: (socket, data) => socket.data.connection?.message(data),
    pong: (socket) => socket.data.connection?.onPong(),
    drain: (socket) => socket.data.connection?.drained(),
    close: (socket, code, reason) => socket.data.connection?.closed(code, reason),
  }
}

function rawSocket(socket: Bun.ServerWebSocket<SocketData>): RawSocket {
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
