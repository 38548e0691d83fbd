import type { ServerSocket, SocketHandlers } from '../../middleware/connection/server-socket.ts'

/** The code and reason of a close frame (RFC 6455, section 7.4). */
export type CloseFrame = readonly [code: number, reason: string]

export interface SocketStreamOptions {
  /** Text frames, pulled only as fast as the client reads; the signal is aborted when the client disconnects. */
  readonly frames: (signal: AbortSignal) => AsyncGenerator<readonly string[], void, undefined>
  /** The close frame when `frames` throws; undefined: an unexpected error. */
  readonly closeFrameFor: (error: unknown) => CloseFrame | undefined
  readonly onError: (error: unknown) => void
  /** A client that reads nothing for this long is closed with 1013. */
  readonly stuckMs: number
  /** A client that answers no ping for this long is closed with 1013. */
  readonly silentMs: number
}

/** Above this many queued bytes, `frames` is not pulled. */
const MAX_BUFFERED_BYTES = 64 * 1024
const PINGS_PER_SILENCE = 4
const MAX_MESSAGES_PER_MINUTE = 60

const DONE: CloseFrame = [1000, 'end of stream']
const TOO_MANY_MESSAGES: CloseFrame = [1008, 'too many messages: this socket does not accept messages']
const UNEXPECTED: CloseFrame = [1011, 'an unexpected error']
const STUCK: CloseFrame = [1013, 'the client does not read messages']

/**
 * Sends frames from a generator to a client that only listens. At most 64 KiB plus one frame is queued per client; a few
 * incoming messages are ignored, more close the socket.
 */
export function streamToSocket(options: SocketStreamOptions): SocketHandlers {
  const stream = new SocketStream(options)
  return {
    onOpen: (socket) => stream.start(socket),
    onMessage: () => stream.onMessage(),
    onPong: () => stream.onPong(),
    onDrain: () => stream.drained(),
    onClose: () => stream.stop(),
  }
}

class SocketStream {
  readonly #options: SocketStreamOptions
  readonly #gone = new AbortController()
  #socket: ServerSocket | undefined
  #lastSignMs = performance.now()
  #messages = 0
  #pinging: ReturnType<typeof setInterval> | undefined
  #counting: ReturnType<typeof setInterval> | undefined
  #onDrained = (): void => undefined

  constructor(options: SocketStreamOptions) {
    this.#options = options
  }

  start(socket: ServerSocket): void {
    this.#socket = socket
    this.#lastSignMs = performance.now()
    this.#pinging = setInterval(() => this.#ping(), this.#options.silentMs / PINGS_PER_SILENCE)
    this.#counting = setInterval(() => {
      this.#messages = 0
    }, 60_000)
    void this.#send(socket)
  }

  onMessage(): void {
    this.#messages += 1
    this.#lastSignMs = performance.now()
    if (this.#messages > MAX_MESSAGES_PER_MINUTE) this.#end(TOO_MANY_MESSAGES)
  }

  onPong(): void {
    this.#lastSignMs = performance.now()
  }

  drained(): void {
    this.#onDrained()
  }

  stop(): void {
    clearInterval(this.#pinging)
    clearInterval(this.#counting)
    this.#gone.abort()
    this.#onDrained()
  }

  async #send(socket: ServerSocket): Promise<void> {
    try {
      for await (const frames of this.#options.frames(this.#gone.signal)) {
        const pieces = frames.length === 1 || lengthOf(frames) <= MAX_BUFFERED_BYTES ? [frames] : portions(frames)
        for (const some of pieces) {
          socket.sendAll(some)
          if (socket.bufferedBytes > MAX_BUFFERED_BYTES && !(await this.#hasRoom(socket))) return
        }
      }
      this.#end(DONE)
    } catch (error) {
      const closeFrame = this.#options.closeFrameFor(error)
      if (closeFrame === undefined) this.#options.onError(error)
      this.#end(closeFrame ?? UNEXPECTED)
    }
  }

  /** Waits until the queue is empty; false when the client has disconnected, or was closed because it does not read. */
  async #hasRoom(socket: ServerSocket): Promise<boolean> {
    let queued = socket.bufferedBytes
    while (queued > MAX_BUFFERED_BYTES && !this.#gone.signal.aborted) {
      await this.#drainedWithin(this.#options.stuckMs)
      const left = socket.bufferedBytes
      if (left >= queued) {
        this.#end(STUCK)
        return false
      }
      queued = left
    }
    return !this.#gone.signal.aborted
  }

  async #drainedWithin(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#onDrained = resolve
    await promise
    clearTimeout(timer)
    this.#onDrained = () => undefined
  }

  #ping(): void {
    if (performance.now() - this.#lastSignMs > this.#options.silentMs) this.#end(STUCK)
    else this.#socket?.ping()
  }

  #end([code, reason]: CloseFrame): void {
    this.#socket?.close(code, reason)
  }
}

function lengthOf(frames: readonly string[]): number {
  let length = 0
  for (const frame of frames) length += frame.length
  return length
}

/** Frames in batches that do not exceed the buffer limit by much. */
function* portions(frames: readonly string[]): Generator<readonly string[]> {
  let portion: string[] = []
  let length = 0
  for (const frame of frames) {
    portion.push(frame)
    length += frame.length
    if (length < MAX_BUFFERED_BYTES) continue
    yield portion
    portion = []
    length = 0
  }
  if (portion.length > 0) yield portion
}
