import { once } from 'node:events'
import { createRequire } from 'node:module'
import { crc32, deflateRaw, zstdCompress } from 'node:zlib'

import avro from 'avsc'

/** A file as avsc, an independent Avro implementation, reads it: longs are bigint, bytes plain arrays, maps of ids lists. */
export interface OracleFile {
  readonly schema: OracleSchema
  readonly records: readonly Record<string, unknown>[]
}

/** The parts of a schema's JSON that the tests look at. */
export interface OracleSchema {
  readonly type: unknown
  readonly name?: string
  readonly fields?: readonly { readonly name: string; readonly type: unknown; readonly 'field-id'?: number }[]
}

const bigLong = avro.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : Number(a > b)),
})

/** An avsc type whose longs are bigint. */
export function oracleType(schema: unknown): avro.Type {
  const typeHook = (attributes: unknown) => {
    const name = typeof attributes === 'string' ? attributes : Object(attributes).type
    return name === 'long' ? bigLong : undefined
  }
  return avro.Type.forSchema(schema as avro.Schema, { typeHook, wrapUnions: 'auto' } as never)
}

/** Reads a container file with avsc; rejects when avsc does. */
export async function readWithAvsc(bytes: Uint8Array): Promise<OracleFile> {
  const decoder = new avro.streams.BlockDecoder({ parseHook: oracleType })
  const records: Record<string, unknown>[] = []
  let schema: OracleSchema = { type: 'null' }
  decoder.on('metadata', (_type, _codec, header: { meta: Record<string, Buffer> }) => {
    schema = JSON.parse(String(header.meta['avro.schema']))
  })
  decoder.on('data', (record: Record<string, unknown>) => records.push(plain(record) as Record<string, unknown>))
  const done = once(decoder, 'end')
  decoder.end(Buffer.from(bytes))
  await done
  return { schema, records }
}

type Done = (error: Error | null, compressed?: Buffer) => void

const snappyjs: { compress(content: Uint8Array): Uint8Array } = createRequire(import.meta.url)('snappyjs')

/** Compresses one raw Snappy block. */
export function compressSnappy(content: Uint8Array): Uint8Array {
  return new Uint8Array(snappyjs.compress(new Uint8Array(content)))
}

const codecs = {
  null: (block: Buffer, done: Done) => done(null, block),
  deflate: (block: Buffer, done: Done) => deflateRaw(block, done),
  snappy: (block: Buffer, done: Done) => {
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(block))
    done(null, Buffer.concat([compressSnappy(block), sum]))
  },
  zstandard: (block: Buffer, done: Done) => zstdCompress(block, done),
  lzma: (block: Buffer, done: Done) => done(null, block),
}

/** Writes a container file with avsc, which leaves field ids out of the schema; `blockSize` in bytes. */
export async function writeWithAvsc(
  schema: unknown,
  records: readonly unknown[],
  options: { readonly codec?: string; readonly blockSize?: number } = {},
): Promise<Uint8Array> {
  const all = { ...options, codecs, writeHeader: true }
  const encoder = new avro.streams.BlockEncoder(oracleType(schema), all)
  const chunks: Buffer[] = []
  encoder.on('data', (chunk: Buffer) => chunks.push(chunk))
  const done = once(encoder, 'end')
  for (const record of records) encoder.write(record)
  encoder.end()
  await done
  return new Uint8Array(Buffer.concat(chunks))
}

/** Buffers become plain arrays and records plain objects, so that equality looks at nothing but values. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
}
