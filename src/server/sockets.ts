import type { ServerSocket, SocketHandlers, Upgrade, UpgradeOptions } from '../middleware/connection/server-socket.ts'

/** How long a client may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 2000
const STOPPING = 1001
const FAILED = 1011
const TOO_BIG = 1009
const NO_CODE = 1005

/** The app's response to an upgrade request, kept until the host performs it. */
export interface AcceptedUpgrade extends UpgradeOptions {
  readonly handlers: SocketHandlers
}

/** The upgrade offered to the app with a WebSocket request. */
export class UpgradeOffer {
  #accepted: AcceptedUpgrade | undefined

  readonly upgrade: Upgrade = (handlers, options = {}) => {
    this.#accepted = { ...options, handlers }
    return new Response()
  }

  /** The accepted upgrade; undefined for any other response. */
  taken(response: Response): AcceptedUpgrade | undefined {
    return response.ok ? this.#accepted : undefined
  }
}

/** The operations of a runtime's native WebSocket. */
export interface RawSocket {
  readonly bufferedBytes: () => number
  readonly send: (data: string | Uint8Array) => void
  /** Sends the frames written by `work` together. */
  readonly together: (work: () => void) => void
  readonly ping: () => void
  readonly pause: () => void
  readonly resume: () => void
  /** Undefined: without a code. */
  readonly close: (code?: number, reason?: string) => void
  readonly terminate: () => void
}

/** The open sockets of a server; closed when it stops. */
export class OpenSockets {
  readonly #open = new Set<Connection>()
  readonly #onError: (error: unknown) => void
  #stopping = false

  constructor(onError: ((error: unknown) => void) | undefined) {
    this.#onError = onError ?? (() => undefined)
  }

  /** Adds a socket; the runtime then calls `opened` and the other methods for its events. */
  add(raw: RawSocket, accepted: AcceptedUpgrade): Connection {
    const connection = new Connection(raw, accepted, {
      onError: this.#onError,
      onOpened: () => {
        if (this.#stopping) connection.close(STOPPING, 'the service is stopping')
      },
      onClosed: () => this.#open.delete(connection),
    })
    this.#open.add(connection)
    return connection
  }

  /** Closes all sockets, gracefully or not, and new ones too. Resolves when all are closed. */
  async stop(graceful: boolean): Promise<void> {
    this.#stopping = true
    const closed = [...this.#open].map((connection) => {
      if (graceful) connection.close(STOPPING, 'the service is stopping')
      else connection.terminate()
      return connection.whenClosed
    })
    await Promise.all(closed)
  }
}

interface ConnectionEvents {
  readonly onOpened: () => void
  readonly onError: (error: unknown) => void
  readonly onClosed: () => void
}

/** A socket between a runtime and the app: app errors close it, and closing takes bounded time. */
export class Connection implements ServerSocket {
  readonly whenClosed: Promise<void>
  readonly #raw: RawSocket
  readonly #accepted: AcceptedUpgrade
  readonly #events: ConnectionEvents
  readonly #resolveClosed: () => void
  #state: 'open' | 'closing' | 'closed' = 'open'
  #cutting: ReturnType<typeof setTimeout> | undefined

  constructor(raw: RawSocket, accepted: AcceptedUpgrade, events: ConnectionEvents) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.whenClosed = promise
    this.#resolveClosed = resolve
    this.#raw = raw
    this.#accepted = accepted
    this.#events = events
  }

  get bufferedBytes(): number {
    return this.#raw.bufferedBytes()
  }

  send(data: string | Uint8Array): void {
    if (this.#state === 'open') this.#raw.send(data)
  }

  sendAll(texts: readonly string[]): void {
    if (this.#state !== 'open') return
    this.#raw.together(() => {
      for (const text of texts) this.#raw.send(text)
    })
  }

  ping(): void {
    if (this.#state === 'open') this.#raw.ping()
  }

  pause(): void {
    if (this.#state === 'open') this.#raw.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#raw.resume()
  }

  close(code: number, reason: string): void {
    if (this.#state !== 'open') return
    this.#raw.resume() // the reply to the close frame has to be read
    this.#state = 'closing'
    this.#cutting = setTimeout(() => this.#raw.terminate(), CLOSE_TIMEOUT_MS)
    if (code === NO_CODE) this.#raw.close()
    else this.#raw.close(code, reason)
  }

  terminate(): void {
    if (this.#state !== 'closed') this.#raw.terminate()
  }

  opened(): void {
    this.#safely(() => this.#accepted.handlers.onOpen(this))
    this.#events.onOpened()
  }

  message(data: string | Uint8Array): void {
    if (this.#state !== 'open') return
    const { maxMessageBytes, handlers } = this.#accepted
    if (maxMessageBytes !== undefined && data.length > maxMessageBytes) {
      this.close(TOO_BIG, `a message may have at most ${maxMessageBytes} bytes`)
      return
    }
    this.#safely(() => handlers.onMessage?.(data))
  }

  onPong(): void {
    this.#safely(() => this.#accepted.handlers.onPong?.())
  }

  drained(): void {
    this.#safely(() => this.#accepted.handlers.onDrain?.())
  }

  closed(code: number, reason: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearTimeout(this.#cutting)
    this.#events.onClosed()
    this.#resolveClosed()
    this.#safely(() => this.#accepted.handlers.onClose?.(code, reason))
  }

  #safely(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#events.onError(error)
      this.close(FAILED, 'an unexpected error')
    }
  }
}
