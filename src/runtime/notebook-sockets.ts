import { randomFillSync } from 'node:crypto'
import type { Duplex } from 'node:stream'

import type { UpstreamSocket, UpstreamSocketHandlers } from '../notebooks/proxy/upstream.ts'
import {
  clientFrame,
  closePayload,
  FrameError,
  FrameReader,
  isSendableCode,
  OPCODES,
  type SocketEvent,
} from './notebook-socket-frames.ts'

/** A server that does not answer a goodbye is cut after this. */
const GOODBYE_MS = 2000
const NO_CODE = 1005
const NO_GOODBYE = 1006

type Goodbye = readonly [code: number, reason: string]

export interface ClientSocketOptions {
  /** What the handshake was made on, with what was read beyond it. */
  readonly socket: Duplex
  readonly head: Uint8Array
  readonly protocol: string | undefined
  /** Longer messages of the server end the socket with 1009. */
  readonly maxMessageBytes: number
}

/**
 * The client's side of a WebSocket after its handshake (RFC 6455). Neither runtime's own client will do: Bun's cannot
 * stop reading, and whatever a notebook prints would pile up here for a browser that does not keep pace.
 */
export class ClientSocket implements UpstreamSocket {
  readonly protocol: string | undefined
  readonly #socket: Duplex
  readonly #reader: FrameReader
  readonly #masks = new Masks()
  readonly #head: Uint8Array
  #handlers: UpstreamSocketHandlers | undefined
  #state: 'open' | 'closing' | 'closed' = 'open'
  #cutting: ReturnType<typeof setTimeout> | undefined
  /** What the server said last; nothing is read after it. */
  #goodbye: Goodbye | undefined
  #paused = false

  constructor({ socket, head, protocol, maxMessageBytes }: ClientSocketOptions) {
    this.protocol = protocol
    this.#socket = socket
    this.#head = head
    this.#reader = new FrameReader(maxMessageBytes)
    socket.pause()
    // The close follows.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#closed())
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength
  }

  start(handlers: UpstreamSocketHandlers): void {
    this.#handlers = handlers
    if (this.#state === 'closed') return this.#tell([NO_GOODBYE, ''])
    this.#socket.on('drain', () => handlers.onDrain())
    this.#socket.on('end', () => this.#socket.destroy())
    this.#read(this.#head)
    this.#socket.on('data', (bytes: Uint8Array) => this.#read(bytes))
    if (!this.#paused) this.#socket.resume()
  }

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.#write(OPCODES.text, new TextEncoder().encode(data))
    else this.#write(OPCODES.binary, data)
  }

  ping(): void {
    this.#write(OPCODES.ping, new Uint8Array(0))
  }

  pause(): void {
    if (this.#state !== 'open') return
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
  }

  close(code: number, reason: string): void {
    if (this.#state !== 'open') return
    this.#write(OPCODES.close, closePayload(isSendableCode(code) ? code : NO_CODE, reason))
    this.#state = 'closing'
    // The answer to the goodbye stands behind whatever was not read yet.
    this.resume()
    this.#cutting = setTimeout(() => this.#socket.destroy(), GOODBYE_MS)
  }

  terminate(): void {
    this.#socket.destroy()
  }

  #write(opcode: number, payload: Uint8Array): void {
    if (this.#state === 'open') this.#socket.write(clientFrame(opcode, payload, this.#masks.next()))
  }

  #read(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    try {
      if (this.#goodbye !== undefined) return
      for (const event of this.#reader.read(bytes)) this.#heard(event)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#part([error.code, error.message])
    }
  }

  #heard(event: SocketEvent): void {
    switch (event.kind) {
      case 'message':
        if (this.#state === 'open') this.#handlers?.onMessage(event.data)
        return
      case 'ping':
        this.#write(OPCODES.pong, event.payload)
        return
      case 'pong':
        this.#handlers?.onPong()
        return
      default:
        this.#part([event.code, event.reason])
    }
  }

  /** Answers the last word of the server, or has the last word. */
  #part(goodbye: Goodbye): void {
    this.close(...goodbye)
    this.#socket.end()
    this.#tell(goodbye)
  }

  #closed(): void {
    this.#state = 'closed'
    clearTimeout(this.#cutting)
    this.#tell([NO_GOODBYE, ''])
  }

  #tell(goodbye: Goodbye): void {
    if (this.#goodbye !== undefined || this.#handlers === undefined) return
    this.#goodbye = goodbye
    this.#handlers.onClose(...goodbye)
  }
}

const POOLED_MASKS = 256

/** Masks that a notebook cannot foresee, drawn in bulk. */
class Masks {
  readonly #pool = new Uint8Array(4 * POOLED_MASKS)
  #at = this.#pool.length

  next(): Uint8Array {
    if (this.#at === this.#pool.length) {
      randomFillSync(this.#pool)
      this.#at = 0
    }
    this.#at += 4
    return this.#pool.subarray(this.#at - 4, this.#at)
  }
}
