import { IcebergError } from '../errors.ts'
import { PositionBitmap } from './position-bitmap.ts'
import type { BitmapChunk } from './position-bitmap.ts'
import { containerCardinality, popCount } from './roaring-container.ts'
import type { Container } from './roaring-container.ts'

/** Cookie of a 32-bit bitmap without run containers. */
const PLAIN_COOKIE = 12_346
/** Low half of the cookie of a 32-bit bitmap that has run containers. */
const RUN_COOKIE = 12_347
/** Bitmaps with run containers have an offset table if they have at least this many containers. */
const OFFSETS_FROM = 4
const MAX_CONTAINERS = 65_536
const ARRAY_LIMIT = 4096
const BITS_BYTES = 8192
const TWO_32 = 4_294_967_296
/** First high word whose positions would not fit a JavaScript number (2^53 / 2^32). */
const KEY_LIMIT = 2_097_152

/**
 * Decodes the portable 64-bit roaring format: a 64-bit count, then per 32-bit bitmap its high word and its body
 * (RoaringFormatSpec, "extension for 64-bit implementations"). `CORRUPT_FILE` when the data is inconsistent,
 * when bytes are left over, and for positions of 2^53 or more.
 */
export function decodeRoaring64(bytes: Uint8Array): PositionBitmap {
  const reader = new Reader(bytes)
  const count = reader.u32()
  if (reader.u32() !== 0) throw corrupt('invalid number of bitmaps')
  const chunks: BitmapChunk[] = []
  let lastKey = -1
  for (let i = 0; i < count; i++) {
    const key = reader.u32()
    if (key >= KEY_LIMIT) throw corrupt(`key ${key} is out of range: positions must be below 2^53`)
    if (key <= lastKey) throw corrupt('keys are not ascending')
    lastKey = key
    readBitmap32(reader, key * TWO_32, chunks)
  }
  if (reader.left > 0) throw corrupt(`${reader.left} bytes are left over`)
  return new PositionBitmap(chunks)
}

/** Encodes a set of positions in the portable 64-bit roaring format. */
export function encodeRoaring64(bitmap: PositionBitmap): Uint8Array {
  const groups = new Map<number, BitmapChunk[]>()
  for (const chunk of bitmap.chunks) {
    const key = Math.floor(chunk.base / TWO_32)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [chunk])
    else group.push(chunk)
  }
  let size = 8
  for (const group of groups.values()) size += 4 + headerSize(group) + bodySize(group)
  const writer = new Writer(size)
  writer.u32(groups.size)
  writer.u32(0)
  for (const [key, group] of groups) {
    writer.u32(key)
    writeBitmap32(writer, group)
  }
  return writer.bytes
}

function readBitmap32(reader: Reader, base: number, chunks: BitmapChunk[]): void {
  const { size, runFlags } = readCookie(reader)
  const header = reader.u16s(size * 2)
  if (runFlags === undefined || size >= OFFSETS_FROM) reader.take(size * 4)
  let lastKey = -1
  for (let i = 0; i < size; i++) {
    const key = header[i * 2] ?? 0
    const cardinality = (header[i * 2 + 1] ?? 0) + 1
    if (key <= lastKey) throw corrupt('containers are not ascending')
    lastKey = key
    const isRun = runFlags !== undefined && ((runFlags[i >>> 3] ?? 0) & (1 << (i & 7))) !== 0
    chunks.push({ base: base + key * 65_536, container: readContainer(reader, isRun, cardinality) })
  }
}

/** The number of containers, and a bit for each that holds runs; undefined if none does. */
function readCookie(reader: Reader): { readonly size: number; readonly runFlags: Uint8Array | undefined } {
  const cookie = reader.u32()
  const withRuns = (cookie & 0xffff) === RUN_COOKIE
  if (!withRuns && cookie !== PLAIN_COOKIE) throw corrupt(`unknown bitmap cookie ${cookie}`)
  const size = withRuns ? (cookie >>> 16) + 1 : reader.u32()
  if (size > MAX_CONTAINERS) throw corrupt(`${size} containers`)
  return { size, runFlags: withRuns ? reader.take((size + 7) >>> 3) : undefined }
}

function readContainer(reader: Reader, isRun: boolean, cardinality: number): Container {
  const container = isRun ? readRuns(reader) : readPlain(reader, cardinality)
  if (containerCardinality(container) !== cardinality) throw corrupt('container cardinality is wrong')
  return container
}

function readRuns(reader: Reader): Container {
  const pairs = reader.u16s(reader.u16() * 2)
  let cardinality = 0
  let end = -1
  for (let i = 0; i < pairs.length; i += 2) {
    const start = pairs[i] ?? 0
    const more = pairs[i + 1] ?? 0
    if (start <= end || start + more > 0xffff) throw corrupt('runs overlap or are not ascending')
    end = start + more
    cardinality += more + 1
  }
  return { kind: 'runs', pairs, cardinality }
}

function readPlain(reader: Reader, cardinality: number): Container {
  if (cardinality > ARRAY_LIMIT) {
    const words = reader.u32s(BITS_BYTES / 4)
    return { kind: 'bits', words, cardinality: popCount(words) }
  }
  const values = reader.u16s(cardinality)
  for (let i = 1; i < values.length; i++) {
    if ((values[i] ?? 0) <= (values[i - 1] ?? 0)) throw corrupt('values are not ascending')
  }
  return { kind: 'array', values }
}

function hasRuns(group: readonly BitmapChunk[]): boolean {
  return group.some((chunk) => chunk.container.kind === 'runs')
}

function headerSize(group: readonly BitmapChunk[]): number {
  const runs = hasRuns(group)
  const cookie = runs ? 4 + ((group.length + 7) >>> 3) : 8
  const offsets = !runs || group.length >= OFFSETS_FROM ? group.length * 4 : 0
  return cookie + group.length * 4 + offsets
}

function bodySize(group: readonly BitmapChunk[]): number {
  return group.reduce((sum, chunk) => sum + containerSize(chunk.container), 0)
}

function containerSize(container: Container): number {
  if (container.kind === 'array') return container.values.length * 2
  return container.kind === 'bits' ? BITS_BYTES : 2 + container.pairs.length * 2
}

function writeBitmap32(writer: Writer, group: readonly BitmapChunk[]): void {
  const runs = hasRuns(group)
  if (runs) {
    writer.u32(RUN_COOKIE | ((group.length - 1) << 16))
    writer.append(runFlagsOf(group))
  } else {
    writer.u32(PLAIN_COOKIE)
    writer.u32(group.length)
  }
  for (const { base, container } of group) {
    writer.u16((base % TWO_32) / 65_536)
    writer.u16(containerCardinality(container) - 1)
  }
  if (!runs || group.length >= OFFSETS_FROM) writeOffsets(writer, group)
  for (const { container } of group) writeContainer(writer, container)
}

function runFlagsOf(group: readonly BitmapChunk[]): Uint8Array {
  const flags = new Uint8Array((group.length + 7) >>> 3)
  group.forEach((chunk, i) => {
    if (chunk.container.kind === 'runs') flags[i >>> 3] = (flags[i >>> 3] ?? 0) | (1 << (i & 7))
  })
  return flags
}

function writeOffsets(writer: Writer, group: readonly BitmapChunk[]): void {
  let offset = headerSize(group)
  for (const { container } of group) {
    writer.u32(offset)
    offset += containerSize(container)
  }
}

function writeContainer(writer: Writer, container: Container): void {
  if (container.kind === 'runs') {
    writer.u16(container.pairs.length / 2)
    for (const value of container.pairs) writer.u16(value)
  } else if (container.kind === 'array') {
    for (const value of container.values) writer.u16(value)
  } else {
    for (const word of container.words) writer.u32(word)
  }
}

/** Little-endian reader that refuses to read past the end. */
class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  take(length: number): Uint8Array {
    const at = this.#advance(length)
    return this.#bytes.subarray(at, at + length)
  }

  u16(): number {
    return this.#view.getUint16(this.#advance(2), true)
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4), true)
  }

  u16s(count: number): Uint16Array {
    const at = this.#advance(count * 2)
    const values = new Uint16Array(count)
    for (let i = 0; i < count; i++) values[i] = this.#view.getUint16(at + i * 2, true)
    return values
  }

  u32s(count: number): Uint32Array {
    const at = this.#advance(count * 4)
    const values = new Uint32Array(count)
    for (let i = 0; i < count; i++) values[i] = this.#view.getUint32(at + i * 4, true)
    return values
  }

  #advance(length: number): number {
    if (length > this.left) throw corrupt('it ends too early')
    const at = this.#at
    this.#at += length
    return at
  }
}

/** Little-endian writer into a buffer of known size. */
class Writer {
  readonly bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.#view = new DataView(this.bytes.buffer)
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  u16(value: number): void {
    this.#view.setUint16(this.#at, value, true)
    this.#at += 2
  }

  u32(value: number): void {
    this.#view.setUint32(this.#at, value, true)
    this.#at += 4
  }
}

function corrupt(what: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `The roaring bitmap is damaged: ${what}`)
}
