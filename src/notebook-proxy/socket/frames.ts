/** A complete WebSocket message or control frame (RFC 6455, section 5.2). */
export type SocketEvent =
  | { readonly kind: 'message'; readonly data: string | Uint8Array }
  | { readonly kind: 'ping' | 'pong'; readonly payload: Uint8Array }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** The peer violated the protocol; `code` goes into the close frame. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly code: 1002 | 1007 | 1009

  constructor(code: 1002 | 1007 | 1009, message: string) {
    super(message)
    this.code = code
  }
}

interface Frame {
  readonly final: boolean
  readonly opcode: number
  readonly length: number
}

const EMPTY = new Uint8Array(0)
const MAX_HEADER = 14

/** Reads unmasked server frames and assembles messages. */
export class FrameReader {
  readonly #maxMessageBytes: number
  readonly #header = new Uint8Array(MAX_HEADER)
  #headerLength = 0
  #frame: Frame | undefined
  /** Of the current frame, when it arrives in more than one piece. */
  #payload: Uint8Array | undefined
  #filled = 0
  #parts: Uint8Array[] = []
  #partsLength = 0
  #opcode = 0

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes
  }

  /** Yields what is complete after these bytes. Throws {@link FrameError}; do not read after that. */
  *read(bytes: Uint8Array): Generator<SocketEvent> {
    let rest = bytes
    for (;;) {
      if (this.#frame === undefined) {
        rest = this.#readHeader(rest)
        if (this.#frame === undefined) return
      }
      const payload = this.#readPayload(this.#frame, rest)
      if (payload === undefined) return
      rest = rest.subarray(payload.used)
      const event = this.#finish(this.#frame, payload.bytes)
      this.#frame = undefined
      if (event !== undefined) yield event
      if (rest.length === 0) return
    }
  }

  #readHeader(bytes: Uint8Array): Uint8Array {
    let used = 0
    while (used < bytes.length) {
      this.#header[this.#headerLength] = bytes[used] ?? 0
      this.#headerLength += 1
      used += 1
      if (this.#headerLength < headerLength(this.#header, this.#headerLength)) continue
      this.#frame = this.#parseHeader()
      this.#headerLength = 0
      break
    }
    return bytes.subarray(used)
  }

  #parseHeader(): Frame {
    const header = this.#header
    const [first = 0, second = 0] = header
    if ((first & 0x70) !== 0) throw new FrameError(1002, 'a reserved bit is set')
    if ((second & 0x80) !== 0) throw new FrameError(1002, 'a server frame is masked')
    const frame = { final: (first & 0x80) !== 0, opcode: first & 0x0f, length: payloadLength(header) }
    this.#checkFrame(frame)
    return frame
  }

  #checkFrame({ final, opcode, length }: Frame): void {
    if (opcode >= OPCODES.close) {
      if (opcode > OPCODES.pong) throw new FrameError(1002, 'unknown opcode')
      if (!final || length > 125) throw new FrameError(1002, 'a control frame is fragmented or too long')
      return
    }
    if (opcode > OPCODES.binary) throw new FrameError(1002, 'unknown opcode')
    const continues = opcode === OPCODES.continuation
    if (continues !== (this.#opcode !== 0)) throw new FrameError(1002, 'fragment out of order')
    if (this.#partsLength + length > this.#maxMessageBytes) throw new FrameError(1009, 'message too long')
    if (!continues) this.#opcode = opcode
  }

  /** The frame's payload once complete: a view of `bytes` if it arrived in one piece. */
  #readPayload({ length }: Frame, bytes: Uint8Array): { bytes: Uint8Array; used: number } | undefined {
    if (this.#payload === undefined && bytes.length >= length) return { bytes: bytes.subarray(0, length), used: length }
    this.#payload ??= new Uint8Array(length)
    const used = Math.min(length - this.#filled, bytes.length)
    this.#payload.set(bytes.subarray(0, used), this.#filled)
    this.#filled += used
    if (this.#filled < length) return undefined
    const whole = this.#payload
    this.#payload = undefined
    this.#filled = 0
    return { bytes: whole, used }
  }

  #finish({ final, opcode }: Frame, payload: Uint8Array): SocketEvent | undefined {
    if (opcode === OPCODES.close) return closeEvent(payload)
    if (opcode >= OPCODES.close) return { kind: opcode === OPCODES.ping ? 'ping' : 'pong', payload: payload.slice() }
    if (final && this.#parts.length === 0) return this.#message(payload.slice())
    this.#parts.push(payload.slice())
    this.#partsLength += payload.length
    if (!final) return undefined
    const whole = joined(this.#parts, this.#partsLength)
    this.#parts = []
    this.#partsLength = 0
    return this.#message(whole)
  }

  #message(bytes: Uint8Array): SocketEvent {
    const text = this.#opcode === OPCODES.text
    this.#opcode = 0
    return { kind: 'message', data: text ? decodeText(bytes) : bytes }
  }
}

function headerLength(header: Uint8Array, known: number): number {
  if (known < 2) return 2
  const length = (header[1] ?? 0) & 0x7f
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (((header[1] ?? 0) & 0x80) !== 0 ? 4 : 0)
}

function payloadLength(header: Uint8Array): number {
  const view = new DataView(header.buffer)
  const short = (header[1] ?? 0) & 0x7f
  if (short < 126) return short
  if (short === 126) return view.getUint16(2)
  const long = view.getBigUint64(2)
  if (long > BigInt(Number.MAX_SAFE_INTEGER)) throw new FrameError(1009, 'message too long')
  return Number(long)
}

const VALID_CODES = /^(100[0-3]|100[7-9]|101[0-4]|[34]\d{3})$/

/** Whether the code is allowed in a close frame (RFC 6455, section 7.4). */
export function isSendableCode(code: number): boolean {
  return VALID_CODES.test(String(code))
}

function closeEvent(payload: Uint8Array): SocketEvent {
  if (payload.length === 0) return { kind: 'close', code: 1005, reason: '' }
  const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0)
  if (payload.length === 1 || !isSendableCode(code)) throw new FrameError(1002, 'a close frame without a valid code')
  return { kind: 'close', code, reason: decodeText(payload.subarray(2)) }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new FrameError(1007, 'text is not UTF-8')
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** A complete client frame, masked with four random bytes (RFC 6455, section 5.3). */
export function clientFrame(opcode: number, payload: Uint8Array, mask: Uint8Array): Uint8Array {
  const { length } = payload
  const start = 2 + (length < 126 ? 0 : length < 65_536 ? 2 : 8)
  const frame = new Uint8Array(start + 4 + length)
  const view = new DataView(frame.buffer)
  frame[0] = 0x80 | opcode
  frame[1] = 0x80 | (start === 2 ? length : start === 4 ? 126 : 127)
  if (start === 4) view.setUint16(2, length)
  if (start === 10) view.setBigUint64(2, BigInt(length))
  frame.set(mask, start)
  const body = frame.subarray(start + 4)
  for (let at = 0; at < length; at += 1) body[at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0)
  return frame
}

/** The payload of a close frame; empty for 1005 (no status). */
export function closePayload(code: number, reason: string): Uint8Array {
  if (code === 1005) return EMPTY
  const payload = new Uint8Array(125)
  payload[0] = code >> 8
  payload[1] = code & 0xff
  // Stops before a character that does not fit completely.
  const { written } = new TextEncoder().encodeInto(reason, payload.subarray(2))
  return payload.subarray(0, 2 + written)
}
