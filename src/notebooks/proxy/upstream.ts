/** A request as it goes to a notebook server. */
export interface UpstreamRequest {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string
  readonly method: string
  /** Path and query, as they stand on the wire. */
  readonly path: string
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | null
  /** Gives the request up until it is answered; afterwards whoever reads the answer cancels its body. */
  readonly signal: AbortSignal
}

/** What a notebook server answers; the body comes only as fast as it is read, and fails when it is cut short. */
export interface UpstreamResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | null
}

export interface UpstreamSocketHandlers {
  readonly onMessage: (data: string | Uint8Array) => void
  readonly onPong: () => void
  /** Everything that was queued is on its way. */
  readonly onDrain: () => void
  /** Once, and last: 1005 when the goodbye has no code, 1006 when there was none (RFC 6455, section 7.1.5). */
  readonly onClose: (code: number, reason: string) => void
}

/** A WebSocket to a notebook server; nothing is read from it before `start`. */
export interface UpstreamSocket {
  /** The subprotocol that the server selected. */
  readonly protocol: string | undefined
  /** Bytes that are queued in this process because the server takes nothing. */
  readonly bufferedBytes: number
  start(handlers: UpstreamSocketHandlers): void
  send(data: string | Uint8Array): void
  ping(): void
  /** Stops reading, so that the server has to wait; a few messages may still come. */
  pause(): void
  resume(): void
  /** Says goodbye, without a code when it is 1005; a server that does not answer within two seconds is cut. */
  close(code: number, reason: string): void
  /** Cuts the connection without a word. */
  terminate(): void
}

/** An upgrade that the server carried out, or its answer when it did not. */
export type UpstreamUpgrade = { readonly socket: UpstreamSocket } | { readonly response: UpstreamResponse }

/** The way to notebook servers. Both methods throw {@link UpstreamError}, or the signal's reason. */
export interface NotebookUpstream {
  request(request: UpstreamRequest): Promise<UpstreamResponse>
  /** Asks for a WebSocket that speaks one of the subprotocols; the request's headers go along. */
  openSocket(request: Omit<UpstreamRequest, 'body'>, protocols: readonly string[]): Promise<UpstreamUpgrade>
  /** Begins nothing more, gives what is under way a few seconds, and cuts what is left. */
  close(): Promise<void>
}

/** How a notebook server failed: it takes no connection, it breaks the protocol or the connection, it does not answer. */
export type UpstreamFailure = 'unreachable' | 'broken' | 'slow'

/** A notebook server gave no usable answer. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, options?: ErrorOptions) {
    super(`the notebook server is ${failure}`, options)
    this.failure = failure
  }
}
