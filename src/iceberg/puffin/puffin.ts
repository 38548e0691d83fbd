import { decompressorFor } from '../avro/block-codec.ts'
import { IcebergError } from '../errors.ts'
import type { FileIO } from '../io/file-io.ts'
import { stringifyJson } from '../json/lossless-json.ts'
import { footerToJson, parseFooterPayload } from './puffin-footer.ts'
import type { BlobMetadata, PuffinFooter } from './puffin-footer.ts'

/** `PFA1`: the first bytes of a Puffin file, of its footer, and the last bytes of both. */
export const PUFFIN_MAGIC: Uint8Array = new Uint8Array([0x50, 0x46, 0x41, 0x31])

const MAGIC_SIZE = 4
/** Payload size (4), flags (4) and magic (4) end every file. */
const TAIL_SIZE = 12
/** Bit 0 of the flags: the footer payload is compressed with LZ4. */
const COMPRESSED_FLAG = 1
/** Maximum uncompressed size of a blob, in bytes. */
const MAX_UNPACKED_BLOB = 1_073_741_824

/** A blob to be written; it is stored uncompressed. */
export interface NewBlob {
  readonly type: string
  readonly fields: readonly number[]
  /** -1 when unknown. */
  readonly snapshotId: bigint
  /** -1 when unknown. */
  readonly sequenceNumber: bigint
  readonly properties?: Readonly<Record<string, string>>
  readonly data: Uint8Array
}

/**
 * Reads the footer of a Puffin file (Puffin spec, "File structure").
 * `CORRUPT_FILE` when it is not a Puffin file; `UNSUPPORTED` for LZ4 footers and unknown flags.
 */
export async function readPuffinFooter(io: FileIO, location: string): Promise<PuffinFooter> {
  const status = await io.stat(location)
  if (status === undefined) throw new IcebergError('FILE_NOT_FOUND', `There is no Puffin file ${location}`)
  const size = status.sizeBytes
  if (size < MAGIC_SIZE * 2 + TAIL_SIZE) throw corrupt(location, `it has only ${size} bytes`)
  await requirePuffinStart(io, location)
  const tail = await io.readRange(location, size - TAIL_SIZE, TAIL_SIZE)
  if (!startsWithMagic(tail.subarray(8))) throw corrupt(location, 'it does not end with PFA1')
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength)
  const payloadSize = view.getInt32(0, true)
  requireKnownFlags(view.getUint32(4, true), location)
  const footerStart = size - TAIL_SIZE - payloadSize - MAGIC_SIZE
  if (payloadSize < 0 || footerStart < MAGIC_SIZE) throw corrupt(location, `its footer claims ${payloadSize} bytes`)
  const footer = await io.readRange(location, footerStart, MAGIC_SIZE + payloadSize)
  if (!startsWithMagic(footer)) throw corrupt(location, 'its footer does not start with PFA1')
  const parsed = parseFooterPayload(footer.subarray(MAGIC_SIZE), location)
  for (const blob of parsed.blobs) {
    const fits = blob.offset >= MAGIC_SIZE && blob.offset + blob.length <= footerStart
    if (!fits) throw corrupt(location, `a blob is outside of the blob area (${blob.offset}, ${blob.length} bytes)`)
  }
  return parsed
}

/** Throws `CORRUPT_FILE` unless a file starts like a Puffin file. */
export async function requirePuffinStart(io: FileIO, location: string): Promise<void> {
  const head = await io.readRange(location, 0, MAGIC_SIZE)
  if (!startsWithMagic(head)) throw corrupt(location, 'it does not start with PFA1')
}

/** Reads and unpacks one blob; `UNSUPPORTED` for codecs other than `zstd`. */
export async function readPuffinBlob(io: FileIO, location: string, blob: BlobMetadata): Promise<Uint8Array> {
  const bytes = await io.readRange(location, blob.offset, blob.length)
  if (blob.compressionCodec === undefined) return bytes
  if (blob.compressionCodec !== 'zstd') {
    throw new IcebergError('UNSUPPORTED', `${location} has a blob compressed with ${blob.compressionCodec}`)
  }
  const unpacked = decompressorFor('zstandard', `blob in ${location}`)(bytes, MAX_UNPACKED_BLOB)
  return new Uint8Array(unpacked.buffer, unpacked.byteOffset, unpacked.byteLength)
}

/** Builds a Puffin file; the returned blobs have the position of each one, in the given order. */
export function encodePuffin(
  blobs: readonly NewBlob[],
  properties: Readonly<Record<string, string>>,
): { readonly bytes: Uint8Array; readonly blobs: readonly BlobMetadata[] } {
  let offset = MAGIC_SIZE
  const written: BlobMetadata[] = []
  for (const { type, fields, snapshotId, sequenceNumber, properties: own = {}, data } of blobs) {
    written.push({ type, fields, snapshotId, sequenceNumber, offset, length: data.length, properties: own })
    offset += data.length
  }
  const json = stringifyJson(footerToJson({ blobs: written, properties }))
  const payload = new TextEncoder().encode(json)
  const bytes = new Uint8Array(offset + MAGIC_SIZE + payload.length + TAIL_SIZE)
  bytes.set(PUFFIN_MAGIC, 0)
  blobs.forEach((blob, index) => bytes.set(blob.data, written[index]?.offset))
  bytes.set(PUFFIN_MAGIC, offset)
  bytes.set(payload, offset + MAGIC_SIZE)
  const tail = offset + MAGIC_SIZE + payload.length
  new DataView(bytes.buffer).setInt32(tail, payload.length, true)
  bytes.set(PUFFIN_MAGIC, tail + 8)
  return { bytes, blobs: written }
}

function requireKnownFlags(flags: number, location: string): void {
  if (flags === 0) return
  const what = flags === COMPRESSED_FLAG ? 'its footer is compressed with LZ4' : `its footer has unknown flags ${flags}`
  throw new IcebergError('UNSUPPORTED', `The Puffin file ${location} cannot be read: ${what}`)
}

function startsWithMagic(bytes: Uint8Array): boolean {
  return PUFFIN_MAGIC.every((byte, index) => bytes[index] === byte)
}

function corrupt(location: string, what: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `${location} is not a valid Puffin file: ${what}`)
}
