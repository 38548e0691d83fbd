import { connect, type Socket } from 'node:net'

/** A frame of a server: unmasked, whole (RFC 6455, section 5.2). */
export interface Frame {
  readonly opcode: number
  readonly payload: Buffer
}

export interface RawSocketClientOptions {
  /** `127.0.0.1:<port>` */
  readonly host: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly onFrame?: (frame: Frame) => void
}

/** A WebSocket client made by hand, which can do what no library does: stop reading, or send what it must not. */
export interface RawSocketClient {
  readonly socket: Socket
  /** Status line and headers of the server's answer. */
  readonly head: string
  readonly closed: Promise<void>
  sendFrame(opcode: number, payload: Uint8Array): void
}

const PONG = 10
const PING = 9

/** Connects and sends the handshake; resolves with the answer, whatever it is. Pings are answered while it reads. */
export async function connectRaw(options: RawSocketClientOptions): Promise<RawSocketClient> {
  const [hostname, port] = options.host.split(':')
  const socket = connect(Number(port), hostname)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  const lines = Object.entries({
    Host: options.host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...options.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${options.path} HTTP/1.1\r\n${lines.join('')}\r\n`)

  const sendFrame = (opcode: number, payload: Uint8Array): void => void socket.write(maskedFrame(opcode, payload))
  let rest = Buffer.alloc(0)
  let onHead: ((head: string) => void) | undefined
  let isOpen = false
  const head = new Promise<string>((resolve) => (onHead = resolve))
  socket.on('data', (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    if (onHead !== undefined) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      onHead(rest.toString('latin1', 0, end))
      onHead = undefined
      isOpen = rest.toString('latin1', 0, end).startsWith('HTTP/1.1 101 ')
      rest = rest.subarray(end + 4)
    }
    if (!isOpen) return // the body of a refusal holds no frames
    for (let next = readFrame(rest); next !== undefined; next = readFrame(rest)) {
      rest = rest.subarray(next.length)
      if (next.frame.opcode === PING) sendFrame(PONG, next.frame.payload)
      options.onFrame?.(next.frame)
    }
  })
  void closed.then(() => onHead?.(''))
  return { socket, head: await head, closed, sendFrame }
}

function readFrame(bytes: Buffer): { frame: Frame; length: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes[1]! & 0x7f
  const start = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < start) return undefined
  const size = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  if (bytes.length < start + size) return undefined
  return { frame: { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(start, start + size) }, length: start + size }
}

function maskedFrame(opcode: number, payload: Uint8Array): Buffer {
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 0xff]
  // a mask of zeros changes nothing, and is one
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), payload])
}
