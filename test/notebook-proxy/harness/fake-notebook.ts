import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { PeerSocket } from './peer-socket.ts'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
export type UpgradeAnswer = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** A request as the notebook received it. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
}

/**
 * Fake of a user's Jupyter server: plain HTTP and WebSockets over a real socket, with responses set by each test.
 * Records every connection and request.
 */
export class FakeNotebook {
  readonly requests: SeenRequest[] = []
  readonly sockets: PeerSocket[] = []
  connections = 0
  /** Handles requests; default: 200 with the request as received. */
  answer: Answer = describe
  /** Handles upgrades; default: accepts with the first offered subprotocol. */
  onUpgrade: UpgradeAnswer = (request, socket, head) => void this.accept(request, socket, head)
  readonly #server: Server
  readonly #open = new Set<Duplex>()

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#saw(request)
      void Promise.resolve(this.answer(request, response)).catch(() => response.destroy())
    })
    this.#server.requestTimeout = 0
    this.#server.on('connection', (socket: Duplex) => {
      this.connections += 1
      this.#open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#open.delete(socket))
    })
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#saw(request)
      socket.on('error', () => undefined)
      this.onUpgrade(request, socket, head)
    })
  }

  static async start(): Promise<FakeNotebook> {
    const notebook = new FakeNotebook()
    notebook.#server.listen(0, '127.0.0.1')
    await once(notebook.#server, 'listening')
    return notebook
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get lastRequest(): SeenRequest {
    const last = this.requests.at(-1)
    if (last === undefined) throw new Error('no request reached the notebook')
    return last
  }

  /** Accepts an upgrade. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, options: { protocol?: string } = {}): PeerSocket {
    const offered = request.headers['sec-websocket-protocol']?.split(',')[0]?.trim()
    const protocol = options.protocol ?? offered
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${acceptOf(request)}\r\n` +
        (protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`) +
        '\r\n',
    )
    const peer = new PeerSocket(socket, head)
    this.sockets.push(peer)
    return peer
  }

  /** Clears the records and restores the default handlers. */
  reset(): void {
    this.requests.length = 0
    this.sockets.length = 0
    this.connections = 0
    this.answer = describe
    this.onUpgrade = (request, socket, head) => void this.accept(request, socket, head)
  }

  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #saw({ method, url, headers, rawHeaders }: IncomingMessage): void {
    this.requests.push({ method: method ?? '', url: url ?? '', headers, rawHeaders })
  }
}

export function acceptOf(request: IncomingMessage): string {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  return createHash('sha1').update(key).digest('base64')
}

async function describe(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const hash = createHash('sha256')
  let length = 0
  for await (const bytes of request as AsyncIterable<Buffer>) {
    hash.update(bytes)
    length += bytes.length
  }
  response.setHeader('Content-Type', 'application/json')
  response.end(
    JSON.stringify({
      method: request.method,
      url: request.url,
      headers: request.headers,
      length,
      sha256: hash.digest('hex'),
    }),
  )
}
