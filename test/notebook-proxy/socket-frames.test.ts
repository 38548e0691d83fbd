import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clientFrame, closePayload, FrameError, FrameReader, OPCODES } from '../../src/notebook-proxy/socket/frames.ts'
import { runs } from '../support/effort.ts'

/** A server frame, built as in RFC 6455, section 5.2. */
function serverFrame(opcode: number, payload: Uint8Array, final = true): Buffer {
  const length = payload.length
  const header =
    length < 126
      ? Buffer.from([0, length])
      : length < 65_536
        ? Buffer.from([0, 126, length >> 8, length & 255])
        : Buffer.from([0, 127, 0, 0, 0, 0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255])
  header[0] = (final ? 0x80 : 0) | opcode
  return Buffer.concat([header, payload])
}

const message = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.uint8Array({ maxLength: 300 }),
  fc.integer({ min: 65_530, max: 65_540 }).map((length) => new Uint8Array(length).fill(7)),
)
const cuts = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 6 })

function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

describe('WebSocket frames', () => {
  it('give the same messages, however the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.nat(5), cuts, (messages, fragments, sizes) => {
        const stream: Buffer[] = []
        for (const one of messages) {
          const bytes = typeof one === 'string' ? Buffer.from(one) : Buffer.from(one)
          const size = Math.max(1, Math.ceil(bytes.length / (fragments + 1)))
          const parts = bytes.length === 0 ? [bytes] : inPieces(bytes, [size])
          parts.forEach((part, at) => {
            const opcode = at > 0 ? OPCODES.continuation : typeof one === 'string' ? OPCODES.text : OPCODES.binary
            stream.push(serverFrame(opcode, part, at === parts.length - 1))
            if (at < parts.length - 1) stream.push(serverFrame(OPCODES.ping, Buffer.from([at])))
          })
        }
        const reader = new FrameReader(2 ** 20)
        const read: unknown[] = []
        for (const piece of inPieces(Buffer.concat(stream), sizes)) {
          for (const event of reader.read(piece)) if (event.kind === 'message') read.push(event.data)
        }
        expect(read.map(plain)).toEqual(messages.map(plain))
      }),
    )
  })

  it('of a client are masked, and decode to the payload', () => {
    const mask = fc.uint8Array({ minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000 }), mask, (payload, key) => {
        const frame = Buffer.from(clientFrame(OPCODES.binary, payload, key))
        expect(frame[0]).toBe(0x82)
        expect(frame[1]! & 0x80).toBe(0x80)
        const short = frame[1]! & 0x7f
        const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
        const length = short === 126 ? frame.readUInt16BE(2) : short === 127 ? Number(frame.readBigUInt64BE(2)) : short
        expect(length).toBe(payload.length)
        expect(frame.subarray(start, start + 4)).toEqual(Buffer.from(key))
        const unmasked = frame.subarray(start + 4).map((byte, at) => byte ^ key[at & 3]!)
        expect(Buffer.compare(unmasked, payload)).toBe(0)
      }),
      { numRuns: 50 },
    )
  })

  it('from any bytes give events or a protocol error, and use no more memory than one message may', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), cuts, (bytes, sizes) => {
        const reader = new FrameReader(1000)
        try {
          for (const piece of inPieces(Buffer.from(bytes), sizes)) {
            for (const event of reader.read(piece)) {
              if (event.kind === 'message') expect(event.data.length).toBeLessThanOrEqual(1000)
            }
          }
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError)
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  it('keep close payloads within 125 bytes, without splitting a character', () => {
    expect(closePayload(1005, 'ignored')).toHaveLength(0)
    expect([...closePayload(4001, 'ab')]).toEqual([0x0f, 0xa1, 0x61, 0x62])
    const long = closePayload(1000, 'ü'.repeat(100))
    expect(long.length).toBeLessThanOrEqual(125)
    expect(new TextDecoder('utf-8', { fatal: true }).decode(long.subarray(2))).toBe('ü'.repeat(61))
  })
})

function plain(data: unknown): unknown {
  return typeof data === 'string' ? data : Buffer.from(data as Uint8Array).toString('hex')
}
