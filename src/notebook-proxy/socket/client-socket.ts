import { randomFillSync } from 'node:crypto'
import type { Duplex } from 'node:stream'

import type { UpstreamSocket, UpstreamSocketHandlers } from '../upstream.ts'
import {
  clientFrame,
  closePayload,
  FrameError,
  FrameReader,
  isSendableCode,
  OPCODES,
  type SocketEvent,
} from './frames.ts'

/** How long the server may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 2000
const NO_STATUS = 1005
const ABNORMAL_CLOSURE = 1006

type CloseFrame = readonly [code: number, reason: string]

export interface ClientSocketOptions {
  /** The connection after the handshake, with the bytes read beyond it. */
  readonly socket: Duplex
  readonly head: Uint8Array
  readonly protocol: string | undefined
  /** Longer messages from the server close the socket with 1009. */
  readonly maxMessageBytes: number
}

/**
 * The client side of a WebSocket after its handshake (RFC 6455). For why this is our own code, see
 * docs/adr/0011-websocket-client-of-the-notebook-proxy.md.
 */
export class ClientSocket implements UpstreamSocket {
  readonly protocol: string | undefined
  readonly #socket: Duplex
  readonly #reader: FrameReader
  readonly #masks = new Masks()
  readonly #head: Uint8Array
  #handlers: UpstreamSocketHandlers | undefined
  #state: 'open' | 'closing' | 'closed' = 'open'
  #closeTimer: ReturnType<typeof setTimeout> | undefined
  /** How the socket was closed; nothing is read afterwards. */
  #closeFrame: CloseFrame | undefined
  #paused = false

  constructor({ socket, head, protocol, maxMessageBytes }: ClientSocketOptions) {
    this.protocol = protocol
    this.#socket = socket
    this.#head = head
    this.#reader = new FrameReader(maxMessageBytes)
    socket.pause()
    // A `close` event follows.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#closed())
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength
  }

  start(handlers: UpstreamSocketHandlers): void {
    this.#handlers = handlers
    if (this.#state === 'closed') return this.#reportClose([ABNORMAL_CLOSURE, ''])
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
    this.#write(OPCODES.close, closePayload(isSendableCode(code) ? code : NO_STATUS, reason))
    this.#state = 'closing'
    // The reply to the close frame comes after any unread data.
    this.resume()
    this.#closeTimer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS)
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
      if (this.#closeFrame !== undefined) return
      for (const event of this.#reader.read(bytes)) this.#handle(event)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#finish([error.code, error.message])
    }
  }

  #handle(event: SocketEvent): void {
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
        this.#finish([event.code, event.reason])
    }
  }

  /** Answers the server's close frame, or sends one after a protocol error. */
  #finish(closeFrame: CloseFrame): void {
    this.close(...closeFrame)
    this.#socket.end()
    this.#reportClose(closeFrame)
  }

  #closed(): void {
    this.#state = 'closed'
    clearTimeout(this.#closeTimer)
    this.#reportClose([ABNORMAL_CLOSURE, ''])
  }

  #reportClose(closeFrame: CloseFrame): void {
    if (this.#closeFrame !== undefined || this.#handlers === undefined) return
    this.#closeFrame = closeFrame
    this.#handlers.onClose(...closeFrame)
  }
}

const POOLED_MASKS = 256

/** Unpredictable masks, generated in bulk. */
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
