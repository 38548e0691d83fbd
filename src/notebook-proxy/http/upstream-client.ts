import { createHash, randomBytes } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import {
  type NotebookUpstream,
  UpstreamError,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamUpgrade,
} from '../upstream.ts'
import { ClientSocket } from '../socket/client-socket.ts'
import { readBody, sendBody } from './bodies.ts'
import { PatientSocket } from './patient-socket.ts'

export interface NotebookUpstreamOptions {
  /** Connection timeout, after which a server is `slow`; default 10 s. */
  readonly connectMs?: number
  /**
   * Timeout for a server that neither reads more of the request nor starts its response, after which it is `slow`;
   * default 10 min, because polls may last minutes.
   */
  readonly answerMs?: number
  /** Longer messages from a notebook close its WebSocket with 1009; default 64 MiB. */
  readonly maxSocketMessageBytes?: number
  /** How long open requests may take when the service stops; default 5 s. */
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
 * Client for notebook servers over `node:http`, which both runtimes have. Each request uses its own connection, so that
 * surplus bytes of one response cannot become the response to another request.
 */
export function createNotebookUpstream(options: NotebookUpstreamOptions = {}): NotebookUpstream {
  const limits = { ...DEFAULTS, ...options }
  const openRequests = new OpenRequests()
  return {
    request: (request) => sendRequest(request, { limits, openRequests }),
    openSocket: (request, protocols) => sendUpgrade(request, protocols, { limits, openRequests }),
    close: () => openRequests.close(limits.graceMs),
  }
}

interface Sender {
  readonly limits: Limits
  readonly openRequests: OpenRequests
}

/** Requests whose responses are not complete. Without it, one event stream would block shutdown. */
class OpenRequests {
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

async function sendRequest(request: UpstreamRequest, { limits, openRequests }: Sender): Promise<UpstreamResponse> {
  const headers = { ...Object.fromEntries(request.headers), connection: 'close' }
  const outgoing = open({ ...request, headers, withBody: request.body !== null })
  openRequests.add(outgoing)
  const outcome = settle<UpstreamResponse>(outgoing, request.signal, limits)
  outgoing.on('upgrade', (_, socket) => {
    socket.destroy()
    outcome.fail('broken')
  })
  outgoing.on('response', (incoming) => outcome.succeed(() => responseOf(outgoing, incoming)))
  sendBody(request, outgoing, () => outcome.proceed())
  return outcome.promise
}

async function sendUpgrade(
  request: Omit<UpstreamRequest, 'body'>,
  protocols: readonly string[],
  { limits, openRequests }: Sender,
): Promise<UpstreamUpgrade> {
  const key = randomBytes(16).toString('base64')
  const headers = {
    ...Object.fromEntries(request.headers),
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...(protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }),
  }
  const outgoing = open({ ...request, headers, withBody: false })
  openRequests.add(outgoing)
  const outcome = settle<UpstreamUpgrade>(outgoing, request.signal, limits)
  outgoing.on('upgrade', (incoming, socket, head) => {
    if (!isHandshake(incoming, key, protocols)) {
      socket.destroy()
      return outcome.fail('broken')
    }
    outcome.succeed(() => ({ socket: clientSocket(incoming, { socket, head, limits }) }))
  })
  outgoing.on('response', (incoming) => outcome.succeed(() => ({ response: responseOf(outgoing, incoming) })))
  outgoing.end()
  return outcome.promise
}

interface Opening extends Pick<UpstreamRequest, 'baseUrl' | 'method' | 'path'> {
  readonly headers: Record<string, string>
  /** Whether a body follows, which the server may refuse while it is sent. */
  readonly withBody: boolean
}

function open({ baseUrl, method, path, headers, withBody }: Opening): ClientRequest {
  const { protocol, hostname, port } = new URL(baseUrl)
  const secure = protocol === 'https:'
  const options: RequestOptions = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port || (secure ? 443 : 80),
    method,
    path,
    headers,
    setHost: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    ...(secure || !withBody ? { agent: false } : { createConnection: connectPatiently }),
  }
  return secure ? httpsRequest(options) : httpRequest(options)
}

function connectPatiently({ host, port }: RequestOptions): Socket {
  return new PatientSocket().setNoDelay(true).connect(Number(port), host ?? '')
}

interface Outcome<T> {
  readonly promise: Promise<T>
  succeed(make: () => T): void
  fail(failure: UpstreamFailure): void
  /** The request made progress: restarts its response timeout. */
  proceed(): void
}

/** The outcome of a request: whichever comes first of a response, an error, a timeout or the signal. */
function settle<T>(outgoing: ClientRequest, signal: AbortSignal, { connectMs, answerMs }: Limits): Outcome<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let connected = false
  let over = false
  const wait = (ms: number): void => {
    clearTimeout(timer)
    if (!over) timer = setTimeout(() => end(new UpstreamError('slow')), ms)
  }
  const abort = (): void => end(signal.reason)
  const done = (): void => {
    over = true
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
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
  // Not removed: later errors reach the reader through the response body.
  outgoing.on('error', (cause) => end(new UpstreamError(connected ? 'broken' : 'unreachable', { cause })))
  wait(connectMs)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort)
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
  if (status < 200 || status > 599) throw new RangeError('invalid HTTP status')
  const headers = new Headers()
  const { rawHeaders } = incoming
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  const bodiless = status === 204 || status === 205 || status === 304 || outgoing.method === 'HEAD'
  if (bodiless) incoming.resume()
  return { status, headers, body: bodiless ? null : readBody(outgoing, incoming) }
}

/** Whether a server accepted exactly the requested upgrade (RFC 6455, section 4.1). */
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

interface UpgradedConnection {
  readonly socket: Duplex
  readonly head: Uint8Array
  readonly limits: Limits
}

function clientSocket({ headers }: IncomingMessage, { socket, head, limits }: UpgradedConnection): ClientSocket {
  return new ClientSocket({
    socket,
    head,
    protocol: headers['sec-websocket-protocol'],
    maxMessageBytes: limits.maxSocketMessageBytes,
  })
}
