import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

import { type RawData, type WebSocket, WebSocketServer } from 'ws'

import { type AcceptedUpgrade, OpenSockets, type RawSocket } from './sockets.ts'

/** WebSockets over `node:http`, by the `ws` package. */
export interface NodeSockets {
  /** Completes the handshake of an accepted upgrade; responds 400 itself to an invalid handshake. */
  accept(request: { incoming: IncomingMessage; socket: Duplex; head: Buffer }, accepted: AcceptedUpgrade): void
  stop(graceful: boolean): Promise<void>
}

export interface NodeSocketsOptions {
  /** In bytes. */
  readonly maxPayload: number
  readonly onError: ((error: unknown) => void) | undefined
}

const MAX_KEPT_TEXTS = 64
const MAX_KEPT_LENGTH = 64 * 1024

/** The sockets of one server. */
export function createNodeSockets({ maxPayload, onError }: NodeSocketsOptions): NodeSockets {
  const sockets = new OpenSockets(onError)
  const texts = new TextFrames()
  const protocols = new WeakMap<IncomingMessage, string>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (_, incoming) => protocols.get(incoming) ?? false,
  })
  return {
    accept({ incoming, socket, head }, accepted) {
      if (accepted.protocol !== undefined) protocols.set(incoming, accepted.protocol)
      server.handleUpgrade(incoming, socket, head, (webSocket) =>
        connect({ sockets, texts, accepted, socket }, webSocket),
      )
    },
    stop: (graceful) => sockets.stop(graceful),
  }
}

interface Opening {
  readonly sockets: OpenSockets
  readonly texts: TextFrames
  readonly accepted: AcceptedUpgrade
  /** The stream that frames are written to. */
  readonly socket: Duplex
}

function connect({ sockets, texts, accepted, socket }: Opening, webSocket: WebSocket): void {
  const raw: RawSocket = {
    bufferedBytes: () => webSocket.bufferedAmount,
    send: (data) => {
      // Bypasses `ws`, which without compression writes the same bytes but encodes them again for each socket.
      if (typeof data === 'string') socket.write(texts.frame(data))
      else webSocket.send(data)
    },
    together: (work) => {
      socket.cork()
      work()
      socket.uncork()
    },
    ping: () => webSocket.ping(),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    close: (code, reason) => webSocket.close(code, reason),
    terminate: () => webSocket.terminate(),
  }
  const connection = sockets.add(raw, accepted)
  socket.on('drain', () => connection.drained())
  webSocket.on('message', (data, isBinary) => connection.message(messageData(data, isBinary)))
  webSocket.on('pong', () => connection.onPong())
  webSocket.on('close', (code, reason) => connection.closed(code, reason.toString('utf8')))
  // A protocol error of the client; a close event follows.
  webSocket.on('error', () => undefined)
  connection.opened()
}

function messageData(data: RawData, isBinary: boolean): string | Uint8Array {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)
  return isBinary ? bytes : bytes.toString('utf8')
}

/** Encodes a text that is sent to many sockets only once. */
class TextFrames {
  readonly #recent = new Map<string, Buffer>()

  frame(text: string): Buffer {
    const known = this.#recent.get(text)
    if (known !== undefined) return known
    const frame = textFrame(text)
    if (text.length > MAX_KEPT_LENGTH) return frame
    if (this.#recent.size >= MAX_KEPT_TEXTS) this.#recent.clear()
    this.#recent.set(text, frame)
    return frame
  }
}

/** A server text message as one unmasked frame (RFC 6455, section 5.2). */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafeSlow(start + length)
  frame[0] = 0x81
  frame[1] = start === 2 ? length : start === 4 ? 126 : 127
  if (start === 4) frame.writeUInt16BE(length, 2)
  if (start === 10) frame.writeBigUInt64BE(BigInt(length), 2)
  frame.write(text, start)
  return frame
}
