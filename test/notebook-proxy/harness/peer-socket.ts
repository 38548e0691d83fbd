import type { Duplex } from 'node:stream'

/** A raw frame. */
export interface Frame {
  readonly final: boolean
  readonly opcode: number
  readonly masked: boolean
  readonly payload: Buffer
}

/** The server side of a WebSocket, implemented here so that it can misbehave. */
export class PeerSocket {
  readonly frames: Frame[] = []
  readonly socket: Duplex
  closed = false
  /** Answers pings and close frames; when false, the peer is unresponsive. */
  polite = true
  #rest = Buffer.alloc(0)
  #parts: Buffer[] = []

  /** Whole messages: text as string, binary as hex. */
  readonly messages: string[] = []
  /** Total message bytes, for messages too long to keep. */
  received = 0
  keep = true

  constructor(socket: Duplex, head: Buffer) {
    this.socket = socket
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closed = true
    })
    socket.on('end', () => socket.end())
    if (head.length > 0) this.#read(head)
  }

  /** The code and reason of the other side's close frame; undefined before it. */
  get closeFrame(): readonly [code: number, reason: string] | undefined {
    const frame = this.frames.find(({ opcode }) => opcode === 8)
    if (frame === undefined) return undefined
    if (frame.payload.length === 0) return [1005, '']
    return [frame.payload.readUInt16BE(0), frame.payload.subarray(2).toString('utf8')]
  }

  get pings(): number {
    return this.frames.filter(({ opcode }) => opcode === 9).length
  }

  /** False when the write buffer is full. */
  send(message: string | Uint8Array): boolean {
    return typeof message === 'string' ? this.frame(1, Buffer.from(message)) : this.frame(2, Buffer.from(message))
  }

  close(code?: number, reason = ''): void {
    const payload = Buffer.alloc(code === undefined ? 0 : 2 + Buffer.byteLength(reason))
    if (code !== undefined) {
      payload.writeUInt16BE(code, 0)
      payload.write(reason, 2)
    }
    this.frame(8, payload)
  }

  cut(): void {
    this.socket.destroy()
  }

  frame(
    opcode: number,
    payload: Buffer,
    options: { final?: boolean; masked?: boolean; reserved?: number } = {},
  ): boolean {
    const { final = true, masked = false, reserved = 0 } = options
    const start = payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10
    const header = Buffer.alloc(start + (masked ? 4 : 0)) // a mask of zeros changes nothing
    header[0] = (final ? 0x80 : 0) | reserved | opcode
    header[1] = (masked ? 0x80 : 0) | (start === 2 ? payload.length : start === 4 ? 126 : 127)
    if (start === 4) header.writeUInt16BE(payload.length, 2)
    if (start === 10) header.writeBigUInt64BE(BigInt(payload.length), 2)
    this.socket.write(header)
    return this.socket.write(payload)
  }

  #read(bytes: Buffer): void {
    this.#parts.push(bytes)
    // Joined only when a frame can be complete: long messages come in many pieces.
    if (this.#length() < this.#needed()) return
    this.#rest = Buffer.concat([this.#rest, ...this.#parts])
    this.#parts = []
    for (let frame = this.#take(); frame !== undefined; frame = this.#take()) this.#handle(frame)
  }

  #length(): number {
    return this.#parts.reduce((sum, part) => sum + part.length, this.#rest.length)
  }

  #needed(): number {
    const start = this.#rest
    if (start.length < 14) return 0
    const short = (start[1] ?? 0) & 0x7f
    if (short !== 127) return 0
    return 14 + Number(start.readBigUInt64BE(2))
  }

  #take(): Frame | undefined {
    const bytes = this.#rest
    if (bytes.length < 2) return undefined
    const [first = 0, second = 0] = bytes
    const short = second & 0x7f
    const masked = (second & 0x80) !== 0
    const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
    if (bytes.length < start + (masked ? 4 : 0)) return undefined
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    const from = start + (masked ? 4 : 0)
    if (bytes.length < from + length) return undefined
    const payload = Buffer.from(bytes.subarray(from, from + length))
    if (masked) for (let at = 0; at < length; at += 1) payload[at] = (payload[at] ?? 0) ^ (bytes[start + (at & 3)] ?? 0)
    this.#rest = bytes.subarray(from + length)
    return { final: (first & 0x80) !== 0, opcode: first & 0x0f, masked, payload }
  }

  #handle(frame: Frame): void {
    const { opcode, payload } = frame
    if (opcode === 1 || opcode === 2) {
      this.received += payload.length
      if (this.keep) this.messages.push(payload.toString(opcode === 1 ? 'utf8' : 'hex'))
      return
    }
    this.frames.push(frame)
    if (!this.polite) return
    if (opcode === 9) this.frame(10, payload)
    if (opcode === 8) {
      this.frame(8, payload)
      this.socket.end()
    }
  }
}
