import { crc32 } from 'node:zlib'
import { IcebergError, isIcebergError } from '../errors.ts'
import type { FileIO } from '../io/file-io.ts'
import type { DataFile } from '../manifest/manifest.ts'
import type { PositionBitmap } from './position-bitmap.ts'
import { encodePuffin, requirePuffinStart } from './puffin.ts'
import type { NewBlob } from './puffin.ts'
import { decodeRoaring64, encodeRoaring64 } from './roaring.ts'

/** Blob type of deletion vectors (Puffin spec, "deletion-vector-v1"). */
const DV_BLOB_TYPE = 'deletion-vector-v1'
/** Bytes D1 D3 39 64, read big-endian. */
const DV_MAGIC = 0xd1d33964
/** Field id of the reserved column `_pos` (Iceberg spec, "Reserved Field IDs"). */
const ROW_POSITION_FIELD_ID = 2_147_483_645
const LENGTH_SIZE = 4
const MAGIC_SIZE = 4
const CRC_SIZE = 4
const MIN_BLOB_SIZE = LENGTH_SIZE + MAGIC_SIZE + 8 + CRC_SIZE

/** Deleted row positions of one data file. */
export interface DeletionVector {
  readonly referencedDataFile: string
  readonly positions: PositionBitmap
}

/** The position of a deletion vector in a Puffin file; these become fields of its manifest entry. */
export interface WrittenDeletionVector {
  readonly referencedDataFile: string
  readonly contentOffset: number
  readonly contentSizeInBytes: number
  /** Number of deleted positions; `record_count` of the manifest entry. */
  readonly cardinality: number
}

/** Whether a delete file of a manifest is a deletion vector (Iceberg spec, "Deletion Vectors"). */
export function isDeletionVector(file: DataFile): boolean {
  return file.content === 'position-deletes' && (file.fileFormat === 'puffin' || file.contentOffset !== undefined)
}

/**
 * Encodes a `deletion-vector-v1` blob: length of magic and bitmap (big-endian), magic, portable 64-bit roaring bitmap,
 * CRC-32 of magic and bitmap (big-endian).
 */
export function encodeDeletionVector(positions: PositionBitmap): Uint8Array {
  const bitmap = encodeRoaring64(positions)
  const blob = new Uint8Array(LENGTH_SIZE + MAGIC_SIZE + bitmap.length + CRC_SIZE)
  const view = new DataView(blob.buffer)
  view.setUint32(0, MAGIC_SIZE + bitmap.length)
  view.setUint32(LENGTH_SIZE, DV_MAGIC)
  blob.set(bitmap, LENGTH_SIZE + MAGIC_SIZE)
  const end = blob.length - CRC_SIZE
  view.setUint32(end, crc32(blob.subarray(LENGTH_SIZE, end)))
  return blob
}

/** Decodes a `deletion-vector-v1` blob; `CORRUPT_FILE` when length, magic, checksum or bitmap are wrong. */
export function decodeDeletionVector(blob: Uint8Array): PositionBitmap {
  if (blob.length < MIN_BLOB_SIZE) throw corrupt(`it has only ${blob.length} bytes`)
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength)
  const end = blob.length - CRC_SIZE
  const length = view.getUint32(0)
  if (length !== end - LENGTH_SIZE) throw corrupt(`it states ${length} bytes but has ${end - LENGTH_SIZE}`)
  if (view.getUint32(LENGTH_SIZE) !== DV_MAGIC) throw corrupt('it does not start with D1 D3 39 64')
  const checksum = crc32(blob.subarray(LENGTH_SIZE, end))
  if (checksum !== view.getUint32(end)) throw corrupt('its CRC-32 does not match')
  return decodeRoaring64(blob.subarray(LENGTH_SIZE + MAGIC_SIZE, end))
}

/**
 * Reads the deletion vector that a manifest entry points to, and checks it against the entry: offset and length,
 * the Puffin envelope, magic, checksum, and the number of positions against `record_count`.
 *
 * `INVALID_METADATA` when the entry lacks a field that a deletion vector needs; `CORRUPT_FILE` for wrong bytes, with a
 * separate message for bare blobs, which some early writers stored without a Puffin file around them.
 */
export async function readDeletionVector(io: FileIO, file: DataFile): Promise<PositionBitmap> {
  const { filePath, contentOffset, contentSizeInBytes, referencedDataFile } = file
  if (contentOffset === undefined || contentSizeInBytes === undefined || referencedDataFile === undefined) {
    throw new IcebergError(
      'INVALID_METADATA',
      `The deletion vector in ${filePath} lacks content_offset, content_size_in_bytes or referenced_data_file`,
    )
  }
  await requireEnvelope(io, filePath, contentOffset)
  const blob = await io.readRange(filePath, contentOffset, contentSizeInBytes)
  const positions = decodeNamed(blob, filePath)
  if (positions.cardinality !== file.recordCount) {
    throw new IcebergError(
      'CORRUPT_FILE',
      `The deletion vector for ${referencedDataFile} in ${filePath} has ${positions.cardinality} positions, but ` +
        `its manifest entry says ${file.recordCount}`,
    )
  }
  return positions
}

/** Builds one Puffin file that holds a deletion vector per data file; the order of `written` is that of `vectors`. */
export function encodeDeletionVectorFile(vectors: readonly DeletionVector[]): {
  readonly bytes: Uint8Array
  readonly written: readonly WrittenDeletionVector[]
} {
  const blobs = vectors.map(({ referencedDataFile, positions }): NewBlob => ({
    type: DV_BLOB_TYPE,
    fields: [ROW_POSITION_FIELD_ID],
    snapshotId: -1n,
    sequenceNumber: -1n,
    properties: { 'referenced-data-file': referencedDataFile, cardinality: String(positions.cardinality) },
    data: encodeDeletionVector(positions),
  }))
  const file = encodePuffin(blobs, { 'created-by': 'Lockhouse' })
  const written = vectors.map(({ referencedDataFile, positions }, index): WrittenDeletionVector => ({
    referencedDataFile,
    contentOffset: file.blobs[index]?.offset ?? 0,
    contentSizeInBytes: file.blobs[index]?.length ?? 0,
    cardinality: positions.cardinality,
  }))
  return { bytes: file.bytes, written }
}

async function requireEnvelope(io: FileIO, location: string, contentOffset: number): Promise<void> {
  try {
    if (contentOffset >= MAGIC_SIZE) return await requirePuffinStart(io, location)
  } catch (error) {
    if (!isIcebergError(error, 'CORRUPT_FILE')) throw error
  }
  throw new IcebergError(
    'CORRUPT_FILE',
    `${location} has a bare deletion vector without the Puffin file around it that the spec requires; ` +
      'rewrite the deletes of this table with the system that wrote them',
  )
}

function decodeNamed(blob: Uint8Array, location: string): PositionBitmap {
  try {
    return decodeDeletionVector(blob)
  } catch (cause) {
    if (!isIcebergError(cause)) throw cause
    throw new IcebergError(cause.code, `${cause.message} (in ${location})`, { cause })
  }
}

function corrupt(what: string): IcebergError {
  return new IcebergError('CORRUPT_FILE', `The deletion vector is damaged: ${what}`)
}
