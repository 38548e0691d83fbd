import { IcebergError } from '../errors.ts'
import { readAvroSchema } from './known-schemas.ts'
import { minimumSize } from './avro-schema.ts'
import type { AvroSchema } from './avro-schema.ts'
import { decompressorFor } from './block-codec.ts'
import { ByteCursor } from './byte-cursor.ts'

/** `Obj` and format version 1. */
const MAGIC = [0x4f, 0x62, 0x6a, 0x01]
/** Iceberg's AES-GCM stream, in which encrypted manifests are stored (Iceberg spec, "AES GCM Stream"). */
const ENCRYPTED_MAGIC = [0x41, 0x47, 0x53, 0x31]
const SYNC_LENGTH = 16

/**
 * Metadata usually compresses to about a tenth; a file that claims to expand more than this is hostile. Small files may
 * always expand to the minimum.
 */
const MAX_EXPANSION = 256
const MIN_EXPANDED_LIMIT = 16 * 1024 * 1024
const MAX_BLOCK_LENGTH = 512 * 1024 * 1024

/** An opened Avro object container file: its header, and its blocks on demand. */
export interface AvroContainer {
  readonly schema: AvroSchema
  /** All header entries, `avro.schema` and `avro.codec` included. */
  readonly header: ReadonlyMap<string, Uint8Array>
  readonly label: string
  /** Calls `read` once per record, in order, with the cursor at the record. */
  forEachRecord(read: (cursor: ByteCursor) => void): void
  /** The same one record after the other; each must be read before the next is asked for. */
  records(): Generator<ByteCursor>
}

/**
 * Opens an Avro object container file (Avro 1.12, "Object Container Files"); codecs null, deflate, snappy, zstandard.
 *
 * `label` names the file in error messages. Throws `CORRUPT_FILE` for any other file, at the latest when
 * its records are read, and `UNSUPPORTED` for files in Iceberg's encryption stream. Work and memory are bounded by the
 * size of the input. A file cut exactly between two blocks is a valid shorter file: compare record counts or the length.
 */
export function openAvroContainer(bytes: Uint8Array, label = 'Avro file'): AvroContainer {
  assertMagic(bytes, label)
  const cursor = new ByteCursor(bytes, label)
  cursor.skip(MAGIC.length)
  const header = readHeader(cursor)
  const sync = cursor.readFixed(SYNC_LENGTH)
  const schema = readAvroSchema(requireEntry(header, 'avro.schema', cursor))
  const codec = headerText(header, 'avro.codec') ?? 'null'
  const layout = { start: cursor.pos, sync, codec, schema, label }
  return {
    schema,
    header,
    label,
    forEachRecord: (read) => readBlocks(bytes, layout, read),
    records: () => readRecords(bytes, layout),
  }
}

/** A header entry as text, or undefined when it is missing or not UTF-8. */
export function headerText(header: ReadonlyMap<string, Uint8Array>, key: string): string | undefined {
  const value = header.get(key)
  return value === undefined ? undefined : new TextDecoder().decode(value)
}

/** Whether the bytes start like a file in Iceberg's encryption stream. */
export function isEncryptedStream(bytes: Uint8Array): boolean {
  return ENCRYPTED_MAGIC.every((byte, index) => bytes[index] === byte)
}

function assertMagic(bytes: Uint8Array, label: string): void {
  if (MAGIC.every((byte, index) => bytes[index] === byte)) return
  if (isEncryptedStream(bytes)) {
    throw new IcebergError('UNSUPPORTED', `The ${label} is encrypted; encrypted tables are not supported.`)
  }
  const what = bytes.length === 0 ? 'is empty' : 'is not an Avro file'
  throw new IcebergError('CORRUPT_FILE', `The ${label} ${what}.`)
}

function readHeader(cursor: ByteCursor): Map<string, Uint8Array> {
  const header = new Map<string, Uint8Array>()
  for (;;) {
    const count = cursor.readBlockCount(2)
    if (count === 0) return header
    for (let left = count; left > 0; left--) header.set(cursor.readString(), cursor.readBytes())
  }
}

function requireEntry(header: ReadonlyMap<string, Uint8Array>, key: string, cursor: ByteCursor): Uint8Array {
  const value = header.get(key)
  if (value === undefined) throw cursor.corrupt(`its header has no ${key}`)
  return value
}

interface Layout {
  readonly start: number
  readonly sync: Uint8Array
  readonly codec: string
  readonly schema: AvroSchema
  readonly label: string
}

function readBlocks(bytes: Uint8Array, layout: Layout, read: (cursor: ByteCursor) => void): void {
  for (const { block, count } of openBlocks(bytes, layout)) {
    for (let left = count; left > 0; left--) {
      read(block)
      block.assertWithin()
    }
  }
}

function* readRecords(bytes: Uint8Array, layout: Layout): Generator<ByteCursor> {
  for (const { block, count } of openBlocks(bytes, layout)) {
    for (let left = count; left > 0; left--) {
      yield block
      block.assertWithin()
    }
  }
}

interface OpenBlock {
  readonly block: ByteCursor
  readonly count: number
}

/** The blocks of a file; each must be read to its end before the next is asked for. */
function* openBlocks(bytes: Uint8Array, layout: Layout): Generator<OpenBlock> {
  const file = new ByteCursor(bytes, layout.label)
  const decompress = decompressorFor(layout.codec, layout.label)
  const minimum = Math.max(minimumSize(layout.schema), 1)
  let budget = Math.max(bytes.length * MAX_EXPANSION, MIN_EXPANDED_LIMIT)
  file.pos = layout.start
  while (file.remaining > 0) {
    const { count, content } = readBlock(file, layout.sync)
    const block = new ByteCursor(decompress(content, Math.min(budget, MAX_BLOCK_LENGTH)), layout.label)
    budget -= block.end
    if (count * minimum > block.end) throw file.corrupt('a block has more records than it can hold')
    yield { block, count }
    if (block.remaining !== 0) throw file.corrupt('a block has bytes after its last record')
  }
}

function readBlock(file: ByteCursor, sync: Uint8Array): { count: number; content: Uint8Array } {
  const count = file.readNumber()
  const length = file.readNumber()
  file.assertWithin()
  if (count < 0 || length < 0) throw file.corrupt('a block has a negative size')
  if (length + SYNC_LENGTH > file.remaining) throw file.corrupt('it ends in the middle of a block')
  const content = file.bytes.subarray(file.pos, file.pos + length)
  file.skip(length)
  const marker = file.bytes.subarray(file.pos, file.pos + SYNC_LENGTH)
  if (!sync.every((byte, index) => marker[index] === byte))
    throw file.corrupt('a block does not end with its sync marker')
  file.skip(SYNC_LENGTH)
  return { count, content }
}
