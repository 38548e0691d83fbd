import { createHash, randomBytes } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'

import {
  type NotebookUpstream,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamUpgrade,
} from '../notebooks/proxy/upstream.ts'
import { ClientSocket } from './notebook-sockets.ts'
import { readBody, sendBody } from './notebook-bodies.ts'

export interface NotebookUpstreamOptions {
  /** A server that takes no connection for so long is `slow`; default 10 s. */
  readonly connectMs?: number
  /**
   * A server that neither takes more of the request nor begins its answer for so long is `slow`; default 10 min, for
   * polls may last minutes.
   */
  readonly answerMs?: number
  /** Longer messages of a notebook end its WebSocket with 1009; default 64 MiB. */
  readonly maxSocketMessageBytes?: number
  /** How long what is under way may take when the service stops; default 5 s. */
  readonly graceMs?: number
}

type Limits = Required<NotebookUpstreamOptions>

const DEFAULTS: Limits = {
  connectMs: 10_000,
  answerMs: 600_000,
  maxSocketMessageBytes: 64 * 2 ** 20,
  graceMs: 5000,
}
const MAX_HEADER_BYTES = 64 * 1024
const KEEP_ALIVE_MS = 30_000
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Notebook servers over `node:http`, which both runtimes have. Each request has a connection of its own: what a server
 * answers too much can then not become the answer to another request.
 */
export function createNotebookUpstream(options: NotebookUpstreamOptions = {}): NotebookUpstream {
  const limits = { ...DEFAULTS, ...options }
  const underWay = new UnderWay()
  return {
    request: (request) => answerOf(request, { limits, underWay }),
    openSocket: (request, protocols) => upgradeOf(request, protocols, { limits, underWay }),
    close: () => underWay.close(limits.graceMs),
  }
}

interface Sender {
  readonly limits: Limits
  readonly underWay: UnderWay
}

/** Requests that are not answered to the end. Without it, one stream of events would hold up the stop of the service. */
class UnderWay {
  readonly #requests = new Set<ClientRequest>()
  #closing = false
  #onEmpty = (): void => undefined

  add(request: ClientRequest): void {
    this.#requests.add(request)
    request.once('close', () => {
      this.#requests.delete(request)
      if (this.#requests.size === 0) this.#onEmpty()
    })
    if (this.#closing) request.destroy()
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true
    if (this.#requests.size === 0) return
    const { promise: empty, resolve } = Promise.withResolvers<void>()
    this.#onEmpty = resolve
    const timer = setTimeout(() => {
      for (const request of this.#requests) request.destroy()
    }, graceMs)
    await empty
    clearTimeout(timer)
  }
}

async function answerOf(request: UpstreamRequest, { limits, underWay }: Sender): Promise<UpstreamResponse> {
  const headers = { ...Object.fromEntries(request.headers), connection: 'close' }
  const outgoing = open(request, headers)
  underWay.add(outgoing)
  const answered = settle<UpstreamResponse>(outgoing, request.signal, limits)
  outgoing.on('upgrade', (_, socket) => {
    socket.destroy()
    answered.fail('broken')
  })
  outgoing.on('response', (incoming) => answered.succeed(() => responseOf(outgoing, incoming)))
  sendBody(request, outgoing, () => answered.proceed())
  return answered.promise
}

async function upgradeOf(
  request: Omit<UpstreamRequest, 'body'>,
  protocols: readonly string[],
  { limits, underWay }: Sender,
): Promise<UpstreamUpgrade> {
  const key = randomBytes(16).toString('base64')
  const outgoing = open(request, {
    ...Object.fromEntries(request.headers),
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
  })
  underWay.add(outgoing)
  const answered = settle<UpstreamUpgrade>(outgoing, request.signal, limits)
  outgoing.on('upgrade', (incoming, socket, head) => {
    if (!isHandshake(incoming, key, protocols)) {
      socket.destroy()
      return answered.fail('broken')
    }
    answered.succeed(() => ({ socket: clientSocket(incoming, { socket, head, limits }) }))
  })
  outgoing.on('response', (incoming) => answered.succeed(() => ({ response: responseOf(outgoing, incoming) })))
  outgoing.end()
  return answered.promise
}

function open(
  { baseUrl, method, path }: Omit<UpstreamRequest, 'body'>,
  headers: Record<string, string>,
): ClientRequest {
  const { protocol, hostname, port } = new URL(baseUrl)
  const secure = protocol === 'https:'
  const options: RequestOptions = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port || (secure ? 443 : 80),
    method,
    path,
    headers,
    agent: false,
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  }
  return secure ? httpsRequest(options) : httpRequest(options)
}

interface Settling<T> {
  readonly promise: Promise<T>
  succeed(make: () => T): void
  fail(failure: UpstreamFailure): void
  /** The request is getting on: the time for its answer begins anew. */
  proceed(): void
}

/** The outcome of a request: whatever comes first of an answer, an error, the limits of time and the signal. */
function settle<T>(outgoing: ClientRequest, signal: AbortSignal, { connectMs, answerMs }: Limits): Settling<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let connected = false
  let over = false
  const wait = (ms: number): void => {
    clearTimeout(timer)
    if (!over) timer = setTimeout(() => end(new UpstreamError('slow')), ms)
  }
  const give = (): void => end(signal.reason)
  const done = (): void => {
    over = true
    clearTimeout(timer)
    signal.removeEventListener('abort', give)
  }
  const end = (reason: unknown): void => {
    done()
    reject(reason)
    outgoing.destroy()
  }
  outgoing.on('socket', (socket) => {
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.once('connect', () => {
      connected = true
      wait(answerMs)
    })
  })
  // Stays: what goes wrong after the answer has begun is told by its body.
  outgoing.on('error', (cause) => end(new UpstreamError(connected ? 'broken' : 'unreachable', { cause })))
  wait(connectMs)
  if (signal.aborted) give()
  else signal.addEventListener('abort', give)
  return {
    promise,
    succeed(make) {
      done()
      try {
        resolve(make())
      } catch (cause) {
        end(new UpstreamError('broken', { cause }))
      }
    },
    fail: (failure) => end(new UpstreamError(failure)),
    proceed: () => wait(answerMs),
  }
}

function responseOf(outgoing: ClientRequest, incoming: IncomingMessage): UpstreamResponse {
  const status = incoming.statusCode ?? 0
  if (status < 200 || status > 599) throw new RangeError('a status that is none')
  const headers = new Headers()
  const { rawHeaders } = incoming
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  const bodiless = status === 204 || status === 205 || status === 304 || outgoing.method === 'HEAD'
  if (bodiless) incoming.resume()
  return { status, headers, body: bodiless ? null : readBody(outgoing, incoming) }
}

/** Whether a server has carried out what was asked for, and nothing else (RFC 6455, section 4.1). */
function isHandshake({ headers, statusCode }: IncomingMessage, key: string, protocols: readonly string[]): boolean {
  const accept = createHash('sha1')
    .update(key + HANDSHAKE_GUID)
    .digest('base64')
  const protocol = headers['sec-websocket-protocol']
  return (
    statusCode === 101 &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-accept'] === accept &&
    headers['sec-websocket-extensions'] === undefined &&
    (protocol === undefined || protocols.includes(protocol))
  )
}

interface Opened {
  readonly socket: Duplex
  readonly head: Uint8Array
  readonly limits: Limits
}

function clientSocket({ headers }: IncomingMessage, { socket, head, limits }: Opened): ClientSocket {
  return new ClientSocket({
    socket,
    head,
    protocol: headers['sec-websocket-protocol'],
    maxMessageBytes: limits.maxSocketMessageBytes,
  })
}
