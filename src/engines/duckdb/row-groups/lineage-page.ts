import type { PageCodec } from '../recode/page-codec.ts'
import type { Longs } from './longs.ts'
import { COMPACT } from '../parquet/compact-reader.ts'
import { concat, encodeStruct, integerField, structField } from '../parquet/compact-struct.ts'

/** A data page of 64-bit integers of an optional column. */
export interface LineagePage {
  /** Header and compressed body. */
  readonly bytes: Uint8Array
  /** Bytes of the header and of the body before compression. */
  readonly plainBytes: number
  readonly rows: number
  readonly nulls: number
  /** Undefined when all values are null. */
  readonly range: LongRange | undefined
}

/** The least and greatest value. */
export interface LongRange {
  readonly lower: bigint
  readonly upper: bigint
}

/** `Encoding.PLAIN` in parquet.thrift; all readers support it. */
export const PLAIN = 0
/** `Encoding.RLE` in parquet.thrift. */
export const RLE = 3

/** Encodes a page (parquet.thrift, `DataPageHeader`): definition levels with the encoding RLE, values with PLAIN. */
export async function encodePage(values: Longs, codec: PageCodec): Promise<LineagePage> {
  const present = values.present()
  const body = concat([lengthPrefixed(definitionLevels(values)), plain(present)])
  const compressed = await codec.compress(body)
  const header = encodeStruct(
    new Map([
      [1, integerField(0, COMPACT.i32)],
      [2, integerField(body.length, COMPACT.i32)],
      [3, integerField(compressed.length, COMPACT.i32)],
      [
        5,
        structField(
          new Map([
            [1, integerField(values.length, COMPACT.i32)],
            [2, integerField(PLAIN, COMPACT.i32)],
            [3, integerField(RLE, COMPACT.i32)],
            [4, integerField(RLE, COMPACT.i32)],
          ]),
        ),
      ],
    ]),
  )
  return {
    bytes: concat([header, compressed]),
    plainBytes: header.length + body.length,
    rows: values.length,
    nulls: values.nullCount,
    range: rangeOf(present),
  }
}

/** A 64-bit integer as PLAIN and statistics encode it. */
export function longBytes(value: bigint): Uint8Array {
  return plain(BigInt64Array.of(value))
}

/** The bytes of values, little-endian as on each machine that the runtimes support. */
function plain(values: BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
}

/** One bit for each value (Parquet, "RLE/Bit-Packing Hybrid"): one run where all bits are equal, otherwise packed bits. */
function definitionLevels({ length, nulls, nullCount }: Longs): Uint8Array {
  if (nullCount === 0 || nullCount === length) return Uint8Array.from([...varint(length * 2), nullCount === 0 ? 1 : 0])
  const bits = new Uint8Array(Math.ceil(length / 8))
  for (let at = 0; at < length; at += 1) if (nulls[at] === 0) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7))
  return concat([Uint8Array.from(varint(bits.length * 2 + 1)), bits])
}

function lengthPrefixed(bytes: Uint8Array): Uint8Array {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, bytes.length, true)
  return concat([length, bytes])
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  bytes.push(rest)
  return bytes
}

function rangeOf(values: BigInt64Array): LongRange | undefined {
  let [lower] = values
  if (lower === undefined) return undefined
  let upper = lower
  for (const value of values) {
    if (value < lower) lower = value
    if (value > upper) upper = value
  }
  return { lower, upper }
}

/** The range of both; undefined for two undefined ranges. */
export function joinRanges(a: LongRange | undefined, b: LongRange | undefined): LongRange | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return { lower: a.lower < b.lower ? a.lower : b.lower, upper: a.upper > b.upper ? a.upper : b.upper }
}
