/** The WebSocket of a client (RFC 6455), on any runtime. */
export interface ServerSocket {
  /** Queues a frame; of no effect once the socket closes. */
  send(data: string | Uint8Array): void
  /** Queues frames that go out together. */
  sendAll(texts: readonly string[]): void
  /** Bytes that are queued in this process because the client takes nothing. */
  readonly bufferedBytes: number
  /** Asks for a sign of life; the answer comes as `onPong`. */
  ping(): void
  /** Stops reading, so that the client has to wait; a few messages may still come. */
  pause(): void
  resume(): void
  /** Says goodbye, without a code when it is 1005; a client that does not answer within two seconds is cut. */
  close(code: number, reason: string): void
  /** Cuts the connection without a word. */
  terminate(): void
}

/** What becomes of a socket; all are called one after another, `onOpen` first and `onClose` last. */
export interface SocketHandlers {
  readonly onOpen: (socket: ServerSocket) => void
  readonly onMessage?: (data: string | Uint8Array) => void
  readonly onPong?: () => void
  /** Everything that was queued is on its way. */
  readonly onDrain?: () => void
  /** 1005 when the goodbye has no code, 1006 when there was none (RFC 6455, section 7.1.5). */
  readonly onClose?: (code: number, reason: string) => void
}

export interface UpgradeOptions {
  /** The subprotocol that is selected; it must be one that the client offers. */
  readonly protocol?: string | undefined
  /** Larger messages of the client close the socket with 1009. The host has a limit of its own. */
  readonly maxMessageBytes?: number
}

/**
 * Makes the answer that turns a request into a WebSocket. The socket opens when the host gets this answer; an error that
 * is answered instead refuses the upgrade, and no handler is called.
 */
export type Upgrade = (handlers: SocketHandlers, options?: UpgradeOptions) => Response
