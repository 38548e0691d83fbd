/** A request to a notebook server. */
export interface UpstreamRequest {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string
  readonly method: string
  /** Path and query, as sent on the wire. */
  readonly path: string
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | null
  /** Aborts the request until its response starts; afterwards the reader cancels the body. */
  readonly signal: AbortSignal
}

/** A notebook server's response; the body arrives only as fast as it is read, and fails when it is truncated. */
export interface UpstreamResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | null
}

export interface UpstreamSocketHandlers {
  readonly onMessage: (data: string | Uint8Array) => void
  readonly onPong: () => void
  /** The send queue is empty. */
  readonly onDrain: () => void
  /** Called once, last: 1005 for a close frame without a code, 1006 without a close frame (RFC 6455, section 7.1.5). */
  readonly onClose: (code: number, reason: string) => void
}

/** A WebSocket to a notebook server; nothing is read from it before `start`. */
export interface UpstreamSocket {
  /** The subprotocol that the server selected. */
  readonly protocol: string | undefined
  /** Bytes queued in this process because the server does not read them. */
  readonly bufferedBytes: number
  start(handlers: UpstreamSocketHandlers): void
  send(data: string | Uint8Array): void
  ping(): void
  /** Stops reading, so that the server has to wait; a few messages may still arrive. */
  pause(): void
  resume(): void
  /** Sends a close frame, without a code for 1005; closes the connection if the server does not reply within 2 s. */
  close(code: number, reason: string): void
  /** Closes the connection without a close frame. */
  terminate(): void
}

/** An accepted upgrade, or the response of a server that refused it. */
export type UpstreamUpgrade = { readonly socket: UpstreamSocket } | { readonly response: UpstreamResponse }

/** Client for notebook servers. Both methods throw {@link UpstreamError}, or the signal's reason. */
export interface NotebookUpstream {
  request(request: UpstreamRequest): Promise<UpstreamResponse>
  /** Requests a WebSocket with one of the subprotocols, with the request's headers. */
  openSocket(request: Omit<UpstreamRequest, 'body'>, protocols: readonly string[]): Promise<UpstreamUpgrade>
  /** Accepts no new requests, gives open ones a few seconds, then closes their connections. */
  close(): Promise<void>
}

/** How a notebook server failed: no connection, a protocol or connection error, or a timeout. */
export type UpstreamFailure = 'unreachable' | 'broken' | 'slow'

/** A notebook server gave no usable response. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, options?: ErrorOptions) {
    super(`the notebook server is ${failure}`, options)
    this.failure = failure
  }
}
