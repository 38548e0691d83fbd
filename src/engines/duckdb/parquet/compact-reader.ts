import { IcebergError } from '../../../iceberg/errors.ts'

/** Types of Thrift's compact protocol, by their numbers. */
export const COMPACT = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const

/** Deeper nesting than any footer has. */
const MAX_DEPTH = 32

const decoder = new TextDecoder()

/** Reads one field of a struct; `type` is one of the compact protocol's types. */
export type FieldReader = (id: number, type: number) => void

/**
 * Reads Thrift's compact protocol (Apache Thrift, "Thrift Compact protocol encoding"), in which Parquet footers are
 * written. Throws `CORRUPT_FILE` at the end of the bytes. Integers are exact up to 2^53.
 */
export class CompactReader {
  readonly #bytes: Uint8Array
  readonly #location: string
  #at = 0

  constructor(bytes: Uint8Array, location: string) {
    this.#bytes = bytes
    this.#location = location
  }

  /** Offset of the next byte. */
  get position(): number {
    return this.#at
  }

  /** Reads all fields of a struct. A field that `read` does not consume is skipped. */
  struct(read: FieldReader): void {
    let last = 0
    for (;;) {
      const header = this.#byte()
      if (header === 0) return
      const type = header & 15
      const delta = header >> 4
      last = delta === 0 ? this.integer() : last + delta
      const before = this.#at
      read(last, type)
      if (this.#at === before) this.skip(type)
    }
  }

  /** Reads a list, calling `read` for each item. */
  list(read: () => void): void {
    const header = this.#byte()
    const long = header >> 4
    const count = long === 15 ? this.#varint() : long
    if (count > this.#bytes.length - this.#at) throw this.#corrupt()
    for (let left = count; left > 0; left -= 1) read()
  }

  /** Reads a signed integer of up to 64 bits. */
  integer(): number {
    const value = this.#varint()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** Reads a text. */
  text(): string {
    const length = this.#varint()
    if (length > this.#bytes.length - this.#at) throw this.#corrupt()
    const text = decoder.decode(this.#bytes.subarray(this.#at, this.#at + length))
    this.#at += length
    return text
  }

  /** Skips a value of a field. */
  skip(type: number, depth = 0): void {
    if (depth > MAX_DEPTH) throw this.#corrupt()
    if (type === 1 || type === 2) return
    if (type === 3) this.#advance(1)
    else if (type === 4 || type === COMPACT.i32 || type === COMPACT.i64) this.#varint()
    else if (type === 7) this.#advance(8)
    else if (type === COMPACT.binary) this.#advance(this.#varint())
    else if (type === COMPACT.struct) this.#skipStruct(depth)
    else this.#skipCollection(type, depth)
  }

  #skipStruct(depth: number): void {
    for (;;) {
      const header = this.#byte()
      if (header === 0) return
      if (header >> 4 === 0) this.#varint()
      this.skip(header & 15, depth + 1)
    }
  }

  #skipCollection(type: number, depth: number): void {
    if (type !== COMPACT.list && type !== 10) throw this.#corrupt()
    const header = this.#byte()
    const long = header >> 4
    const item = header & 15
    const count = long === 15 ? this.#varint() : long
    // booleans in lists take a byte each
    for (let left = count; left > 0; left -= 1) {
      if (item === 1 || item === 2) this.#advance(1)
      else this.skip(item, depth + 1)
    }
  }

  #varint(): number {
    let value = 0
    let factor = 1
    for (let count = 0; count < 10; count += 1) {
      const byte = this.#byte()
      value += (byte & 127) * factor
      if (byte < 128) return value
      factor *= 128
    }
    throw this.#corrupt()
  }

  #byte(): number {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw this.#corrupt()
    this.#at += 1
    return byte
  }

  #advance(count: number): void {
    this.#at += count
    if (this.#at > this.#bytes.length) throw this.#corrupt()
  }

  #corrupt(): IcebergError {
    return new IcebergError(
      'CORRUPT_FILE',
      `the Parquet footer of ${this.#location} cannot be read at byte ${this.#at}`,
    )
  }
}
