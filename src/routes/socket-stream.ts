import type { ServerSocket, SocketHandlers } from '../middleware/server-socket.ts'

/** The code and reason of a goodbye (RFC 6455, section 7.4). */
export type Goodbye = readonly [code: number, reason: string]

export interface SocketStreamOptions {
  /** Text frames, asked for only as fast as the client takes them; the signal is aborted when it is gone. */
  readonly frames: (signal: AbortSignal) => AsyncGenerator<readonly string[], void, undefined>
  /** What to say when `frames` throws; undefined: it is unexpected. */
  readonly goodbyeFor: (error: unknown) => Goodbye | undefined
  readonly onError: (error: unknown) => void
  /** A client that takes nothing for so long is closed with 1013. */
  readonly stuckMs: number
  /** A client that answers no ping for so long is closed with 1013. */
  readonly silentMs: number
}

/** Beyond this nothing more is asked of `frames`. */
const MAX_BUFFERED_BYTES = 64 * 1024
const PINGS_PER_SILENCE = 4
const MAX_MESSAGES_PER_MINUTE = 60

const DONE: Goodbye = [1000, 'the end']
const TOO_MANY_MESSAGES: Goodbye = [1008, 'too many messages: this socket only sends']
const UNEXPECTED: Goodbye = [1011, 'an unexpected error']
const STUCK: Goodbye = [1013, 'messages are not taken']

/**
 * Sends what a generator yields to a client that only listens. In this process never more than 64 KiB and one frame
 * wait for a client; what it sends is ignored, unless it is much.
 */
export function streamToSocket(options: SocketStreamOptions): SocketHandlers {
  const stream = new SocketStream(options)
  return {
    onOpen: (socket) => stream.start(socket),
    onMessage: () => stream.heard(),
    onPong: () => stream.ponged(),
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

  heard(): void {
    this.#messages += 1
    this.#lastSignMs = performance.now()
    if (this.#messages > MAX_MESSAGES_PER_MINUTE) this.#end(TOO_MANY_MESSAGES)
  }

  ponged(): void {
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
      const goodbye = this.#options.goodbyeFor(error)
      if (goodbye === undefined) this.#options.onError(error)
      this.#end(goodbye ?? UNEXPECTED)
    }
  }

  /** Waits until the client has taken what is queued; false when it is gone, or sent away because it takes nothing. */
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

  #end([code, reason]: Goodbye): void {
    this.#socket?.close(code, reason)
  }
}

function lengthOf(frames: readonly string[]): number {
  let length = 0
  for (const frame of frames) length += frame.length
  return length
}

/** Frames in portions that do not fill the buffer much beyond its limit. */
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
