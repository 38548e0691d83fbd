import { Buffer } from 'node:buffer'

import { IcebergError } from '../errors.ts'

/** 2^26: when the part of a long above its lowest 28 bits reaches this, the value passes 2^53. */
const UNSAFE_HIGH = 2 ** 26
/** 2^36: beyond this a varint does not fit 64 bits. */
const OVERFLOW_HIGH = 2 ** 36
const MAX_VARINT_BYTES = 10

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads Avro's binary encoding from one block of bytes (Avro 1.12, "Binary Encoding").
 *
 * Reads past the end return zeros, so that hot loops need no checks; the caller of the cursor calls
 * {@link ByteCursor.assertWithin} after each record. Lengths and counts are checked at once, before any allocation.
 */
export class ByteCursor {
  /** Next byte to read. */
  pos = 0
  readonly end: number
  readonly bytes: Buffer
  /** The same bytes as a plain array, whose `slice` copies into a plain array. */
  readonly #plain: Uint8Array
  /** What is being read, for error messages: `manifest s3://…/m0.avro`. */
  readonly label: string
  #lastLow = 0
  #lastHigh = 0
  #lastBigInt = 0n

  constructor(bytes: Uint8Array, label: string) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.end = bytes.byteLength
    this.label = label
  }

  get remaining(): number {
    return this.end - this.pos
  }

  /** An int or long as a number; `CORRUPT_FILE` outside ±2^53. */
  readNumber(): number {
    const bytes = this.bytes
    let pos = this.pos
    let byte = bytes[pos++] as number
    let low = byte & 127
    if (byte > 127) {
      for (let shift = 7; byte > 127; shift += 7) {
        if (shift === 28) return this.#readLarge(low, pos)
        byte = bytes[pos++] as number
        low |= (byte & 127) << shift
      }
    }
    this.pos = pos
    return (low >>> 1) ^ -(low & 1)
  }

  /** A long as bigint. Equal neighbours share one bigint: snapshot ids repeat from entry to entry. */
  readBigInt(): bigint {
    const low = this.#readLow()
    const high = (this.bytes[this.pos - 1] as number) > 127 ? this.#readHigh() : 0
    if (low === this.#lastLow && high === this.#lastHigh) return this.#lastBigInt
    const magnitude = (BigInt(high) << 27n) | BigInt(low >>> 1)
    this.#lastLow = low
    this.#lastHigh = high
    this.#lastBigInt = (low & 1) === 1 ? -magnitude - 1n : magnitude
    return this.#lastBigInt
  }

  readBoolean(): boolean {
    const byte = this.bytes[this.pos++]
    if (byte !== 0 && byte !== 1) throw this.corrupt('a boolean is neither 0 nor 1')
    return byte === 1
  }

  readFloat(): number {
    return this.bytes.readFloatLE(this.#take(4))
  }

  readDouble(): number {
    return this.bytes.readDoubleLE(this.#take(8))
  }

  /** `length` bytes, copied. */
  readFixed(length: number): Uint8Array {
    const start = this.#take(length)
    return this.#plain.slice(start, start + length)
  }

  /** Length-prefixed bytes, copied. */
  readBytes(): Uint8Array {
    return this.readFixed(this.readNumber())
  }

  /** Length-prefixed text; `CORRUPT_FILE` when it is not UTF-8. */
  readString(): string {
    const length = this.readNumber()
    const start = this.#take(length)
    const text = this.bytes.toString('utf8', start, start + length)
    // Invalid sequences decode to U+FFFD, which is rare in valid text: check again only then.
    return text.includes('\ufffd') ? this.#strictString(start, length) : text
  }

  /** The byte order of an array or map block: its item count, and its size when the writer gave one; 0 ends it. */
  readBlockCount(minimumItemSize: number): number {
    const count = this.readNumber()
    if (count >= 0) return this.#checkCount(count, minimumItemSize)
    const size = this.readNumber()
    if (size < 0 || size > this.remaining) throw this.corrupt('a block of an array is larger than the file')
    return this.#checkCount(-count, minimumItemSize)
  }

  skipVarint(): void {
    const bytes = this.bytes
    let pos = this.pos
    while ((bytes[pos++] as number) > 127);
    this.pos = pos
  }

  skipVarints(count: number): void {
    const bytes = this.bytes
    let pos = this.pos
    for (let left = count; left > 0; left--) {
      while ((bytes[pos++] as number) > 127);
    }
    this.pos = pos
  }

  /** Steps over `count` pairs of a varint and length-prefixed bytes: the bounds of a manifest entry. */
  skipVarintsWithBytes(count: number): void {
    const bytes = this.bytes
    const { end } = this
    let pos = this.pos
    for (let left = count; left > 0; left--) {
      while ((bytes[pos++] as number) > 127);
      const first = bytes[pos] as number
      if (first < 128 && (first & 1) === 0) {
        pos += 1 + (first >> 1)
      } else {
        this.pos = pos
        this.skip(this.readNumber())
        pos = this.pos
      }
      if (pos > end) throw this.corrupt('a value is longer than the rest of the file')
    }
    this.pos = pos
  }

  skip(length: number): void {
    this.#take(length)
  }

  /** Fails when something was read past the end. */
  assertWithin(): void {
    if (this.pos > this.end) throw this.corrupt('it ends in the middle of a record')
  }

  corrupt(what: string): IcebergError {
    return new IcebergError('CORRUPT_FILE', `The ${this.label} is damaged: ${what}.`)
  }

  #take(length: number): number {
    const start = this.pos
    if (length < 0 || length > this.end - start) throw this.corrupt('a value is longer than the rest of the file')
    this.pos = start + length
    return start
  }

  #checkCount(count: number, minimumItemSize: number): number {
    if (count * Math.max(minimumItemSize, 1) > this.remaining) {
      throw this.corrupt('an array has more items than the file can hold')
    }
    return count
  }

  #readLarge(low: number, pos: number): number {
    this.pos = pos
    const high = this.#readHigh()
    if (high >= UNSAFE_HIGH) throw this.corrupt('a number is beyond 2^53')
    const magnitude = high * 2 ** 27 + (low >>> 1)
    return (low & 1) === 1 ? -magnitude - 1 : magnitude
  }

  /** The lowest 28 bits of a varint, leaving the cursor after the last byte read. */
  #readLow(): number {
    const bytes = this.bytes
    let pos = this.pos
    let byte = bytes[pos++] as number
    let low = byte & 127
    for (let shift = 7; byte > 127 && shift < 28; shift += 7) {
      byte = bytes[pos++] as number
      low |= (byte & 127) << shift
    }
    this.pos = pos
    return low
  }

  /** The bits of a varint above the lowest 28. */
  #readHigh(): number {
    let high = 0
    let scale = 1
    let byte = 128
    for (let count = 4; byte > 127; count++) {
      if (count >= MAX_VARINT_BYTES) throw this.corrupt('a number has more than ten bytes')
      byte = this.bytes[this.pos++] as number
      high += (byte & 127) * scale
      scale *= 128
    }
    if (high >= OVERFLOW_HIGH) throw this.corrupt('a number does not fit 64 bits')
    return high
  }

  #strictString(start: number, length: number): string {
    try {
      return strictUtf8.decode(this.bytes.subarray(start, start + length))
    } catch {
      throw this.corrupt('a text is not UTF-8')
    }
  }
}
