import { Buffer } from 'node:buffer'

/** Collects Avro's binary encoding in a growing buffer (Avro 1.12, "Binary Encoding"). */
export class ByteSink {
  #buffer: Buffer
  #length = 0

  constructor(initialSize = 4096) {
    this.#buffer = Buffer.allocUnsafe(initialSize)
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length
  }

  /** A copy of what was written. */
  toBytes(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#length))
  }

  /** What was written, valid until the next write. */
  view(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
  }

  /** An int or long; numbers must be integers within ±2^53. */
  writeNumber(value: number): void {
    if (value >= -0x40000000 && value < 0x40000000) this.#writeVarint32(((value << 1) ^ (value >> 31)) >>> 0)
    else this.writeBigInt(BigInt(value))
  }

  /** A long. */
  writeBigInt(value: bigint): void {
    this.#reserve(10)
    let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
    while (rest > 127n) {
      this.#buffer[this.#length++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.#buffer[this.#length++] = Number(rest)
  }

  writeBoolean(value: boolean): void {
    this.#reserve(1)
    this.#buffer[this.#length++] = value ? 1 : 0
  }

  writeFloat(value: number): void {
    this.#reserve(4)
    this.#length = this.#buffer.writeFloatLE(value, this.#length)
  }

  writeDouble(value: number): void {
    this.#reserve(8)
    this.#length = this.#buffer.writeDoubleLE(value, this.#length)
  }

  /** Bytes as they are. */
  writeFixed(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Bytes after their length. */
  writeBytes(bytes: Uint8Array): void {
    this.writeNumber(bytes.length)
    this.writeFixed(bytes)
  }

  /** Text as UTF-8 after its length in bytes. */
  writeString(text: string): void {
    const length = Buffer.byteLength(text)
    this.writeNumber(length)
    this.#reserve(length)
    this.#buffer.write(text, this.#length)
    this.#length += length
  }

  #writeVarint32(value: number): void {
    this.#reserve(5)
    const buffer = this.#buffer
    let rest = value
    while (rest > 127) {
      buffer[this.#length++] = (rest & 127) | 128
      rest >>>= 7
    }
    buffer[this.#length++] = rest
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
