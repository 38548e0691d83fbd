/** The WebSocket of a client (RFC 6455), on any runtime. */
export interface ServerSocket {
  /** Queues a frame; no effect once the socket is closing. */
  send(data: string | Uint8Array): void
  /** Queues frames that are sent together. */
  sendAll(texts: readonly string[]): void
  /** Bytes queued in this process because the client does not read them. */
  readonly bufferedBytes: number
  /** Sends a ping; the reply arrives as `onPong`. */
  ping(): void
  /** Stops reading, so that the client has to wait; a few messages may still arrive. */
  pause(): void
  resume(): void
  /** Sends a close frame, without a code for 1005; closes the connection if the client does not reply within 2 s. */
  close(code: number, reason: string): void
  /** Closes the connection without a close frame. */
  terminate(): void
}

/** Handlers of socket events; called one at a time, `onOpen` first and `onClose` last. */
export interface SocketHandlers {
  readonly onOpen: (socket: ServerSocket) => void
  readonly onMessage?: (data: string | Uint8Array) => void
  readonly onPong?: () => void
  /** The send queue is empty. */
  readonly onDrain?: () => void
  /** 1005 for a close frame without a code, 1006 without a close frame (RFC 6455, section 7.1.5). */
  readonly onClose?: (code: number, reason: string) => void
}

export interface UpgradeOptions {
  /** The selected subprotocol; must be one that the client offered. */
  readonly protocol?: string | undefined
  /** Larger messages from the client close the socket with 1009. The host has its own limit. */
  readonly maxMessageBytes?: number
}

/**
 * Creates the response that upgrades a request to a WebSocket. The socket opens when the host receives this response; an
 * error response refuses the upgrade, and no handler is called.
 */
export type Upgrade = (handlers: SocketHandlers, options?: UpgradeOptions) => Response
