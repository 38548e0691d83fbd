import type { FileIO } from '../../../iceberg/io/file-io.ts'

import { COMPACT, CompactReader } from './compact-reader.ts'
import { readInteger, readStored, readStructs, readText } from './compact-struct.ts'
import type { StoredStruct } from './compact-struct.ts'
import { namingFile, NotCopyableError } from './not-copyable-error.ts'

/** Bytes of a file: `end` is behind the last one. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** One leaf of a row group. */
export interface StoredChunk {
  /** Fields of `ColumnChunk` and of `ColumnMetaData` in parquet.thrift. */
  readonly chunk: StoredStruct
  readonly meta: StoredStruct
  /** Dictionary and data pages. */
  readonly pages: ByteRange
  /** First data page. */
  readonly dataStart: number
  readonly codec: number
  /** Entries, including nulls. */
  readonly values: number
  /** Undefined when the file does not say. */
  readonly nulls: number | undefined
  readonly columnIndex: ByteRange | undefined
  readonly offsetIndex: ByteRange | undefined
  /** Where the Bloom filter starts, and its bytes when the file says so. */
  readonly bloomFilter: { readonly start: number; readonly length: number | undefined } | undefined
}

export interface StoredRowGroup {
  /** Fields of `RowGroup` in parquet.thrift. */
  readonly fields: StoredStruct
  readonly rows: number
  /** Bytes of the pages of all leaves. */
  readonly bytes: number
  readonly chunks: readonly StoredChunk[]
}

/** A footer that is kept as it is stored, so that it can be written again without a loss. */
export interface StoredFooter {
  readonly location: string
  /** Fields of `FileMetaData` in parquet.thrift. */
  readonly fields: StoredStruct
  /** Encoded elements of the schema, the root first. */
  readonly schema: readonly Uint8Array[]
  readonly rowCount: number
  /** Row groups with rows. */
  readonly rowGroups: readonly StoredRowGroup[]
  readonly keyValues: ReadonlyMap<string, string | undefined>
  readonly createdBy: string
  readonly fileSize: number
}

const TAIL_BYTES = 65_536
/** Length of the footer, and the magic bytes. */
const END_BYTES = 8
const MAX_FOOTER_BYTES = 32 * 1_048_576
/** A row group's ordinal has 16 bits. */
export const MAX_ROW_GROUPS = 32_767

/** Fields of parquet.thrift that are understood here. Any other one may hold an offset. */
const KNOWN = {
  file: new Set([1, 2, 3, 4, 5, 6, 7]),
  rowGroup: new Set([1, 2, 3, 4, 5, 6, 7]),
  chunk: new Set([2, 3, 4, 5, 6, 7]),
  meta: new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17]),
} as const

const MEANING: Readonly<Record<keyof typeof KNOWN, string>> = {
  file: 'its footer',
  rowGroup: 'a row group',
  chunk: 'a column chunk',
  meta: 'the metadata of a column chunk',
}

/**
 * Reads the footer of a Parquet file through a FileIO. {@link NotCopyableError} for files that are encrypted, store columns elsewhere, or
 * have fields that are unknown; `CORRUPT_FILE` for bytes that are no footer; errors of the FileIO.
 */
export async function readStoredFooter(io: FileIO, location: string): Promise<StoredFooter> {
  return namingFile(location, async () => {
    const { bytes, fileSize } = await footerBytes(io, location)
    return parseStoredFooter(bytes, { location, fileSize })
  })
}

async function footerBytes(io: FileIO, location: string) {
  const fileSize = (await io.stat(location))?.sizeBytes ?? 0
  if (fileSize < 4 + END_BYTES) throw new NotCopyableError('it is no Parquet file')
  const tailBytes = Math.min(fileSize, TAIL_BYTES)
  const tail = await io.readRange(location, fileSize - tailBytes, tailBytes)
  const magic = new TextDecoder('latin1').decode(tail.subarray(-4))
  if (magic !== 'PAR1') throw new NotCopyableError(magic === 'PARE' ? 'it is encrypted' : 'it is no Parquet file')
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(tail.length - END_BYTES, true)
  if (length > fileSize - END_BYTES - 4) throw new NotCopyableError('its footer is longer than the file')
  if (length > MAX_FOOTER_BYTES) throw new NotCopyableError(`its footer has more than ${MAX_FOOTER_BYTES} bytes`)
  const end = tail.length - END_BYTES
  const isInTail = length <= end
  const bytes = isInTail
    ? tail.subarray(end - length, end)
    : await io.readRange(location, fileSize - END_BYTES - length, length)
  return { bytes, fileSize }
}

function parseStoredFooter(
  bytes: Uint8Array,
  { location, fileSize }: Pick<StoredFooter, 'location' | 'fileSize'>,
): StoredFooter {
  const fields = readStored(bytes, location)
  requireKnown('file', fields)
  const stored = readStructs(fields.get(4), location)
  if (stored.length > MAX_ROW_GROUPS) throw new NotCopyableError(`it has more than ${MAX_ROW_GROUPS} row groups`)
  const dataEnd = fileSize - END_BYTES - bytes.length
  const rowGroups = stored.map((group) => readRowGroup(group, location))
  requireSeparate(rowGroups, dataEnd)
  const rowCount = readInteger(fields.get(3), location) ?? -1
  if (rowGroups.reduce((sum, { rows }) => sum + rows, 0) !== rowCount) {
    throw new NotCopyableError('its row groups have another number of rows than the file')
  }
  return {
    location,
    fields,
    schema: readStructs(fields.get(2), location),
    rowCount,
    rowGroups: rowGroups.filter(({ rows }) => rows > 0),
    keyValues: readKeyValues(fields, location),
    createdBy: readText(fields.get(6), location) ?? '',
    fileSize,
  }
}

function readKeyValues(fields: StoredStruct, location: string): StoredFooter['keyValues'] {
  const pairs = new Map<string, string | undefined>()
  for (const pair of readStructs(fields.get(5), location)) {
    const entry = readStored(pair, location)
    pairs.set(readText(entry.get(1), location) ?? '', readText(entry.get(2), location))
  }
  return pairs
}

function readRowGroup(bytes: Uint8Array, location: string): StoredRowGroup {
  const fields = readStored(bytes, location)
  requireKnown('rowGroup', fields)
  const rows = readInteger(fields.get(3), location) ?? -1
  if (rows < 0) throw new NotCopyableError('a row group has no row count')
  const chunks = readStructs(fields.get(1), location).map((chunk) => readChunk(chunk, location))
  return { fields, rows, chunks, bytes: chunks.reduce((sum, { pages }) => sum + pages.end - pages.start, 0) }
}

function readChunk(bytes: Uint8Array, location: string): StoredChunk {
  const chunk = readStored(bytes, location)
  if (chunk.has(8) || chunk.has(9)) throw new NotCopyableError('it has encrypted columns')
  if (chunk.has(1)) throw new NotCopyableError('it keeps columns in another file')
  requireKnown('chunk', chunk)
  const stored = chunk.get(3)
  if (stored?.type !== COMPACT.struct) throw new NotCopyableError('a column chunk has no metadata')
  const meta = readStored(stored.bytes, location)
  requireKnown('meta', meta)
  const integer = (id: number): number => readInteger(meta.get(id), location) ?? -1
  const dataStart = integer(9)
  const dictionaryStart = integer(11)
  // writers without a dictionary set 0, and some the offset of the first data page
  const start = dictionaryStart > 0 && dictionaryStart < dataStart ? dictionaryStart : dataStart
  const bloomStart = integer(14)
  return {
    chunk,
    meta,
    pages: { start, end: start + integer(7) },
    dataStart,
    codec: integer(4),
    values: integer(5),
    nulls: readNulls(meta, location),
    columnIndex: indexRange(chunk, { offset: 6, length: 7, location }),
    offsetIndex: indexRange(chunk, { offset: 4, length: 5, location }),
    bloomFilter: meta.has(14) ? { start: bloomStart, length: readInteger(meta.get(15), location) } : undefined,
  }
}

function readNulls(meta: StoredStruct, location: string): number | undefined {
  const statistics = meta.get(12)
  return statistics === undefined ? undefined : readInteger(readStored(statistics.bytes, location).get(3), location)
}

function indexRange(
  chunk: StoredStruct,
  { offset, length, location }: { readonly offset: number; readonly length: number; readonly location: string },
): ByteRange | undefined {
  const start = readInteger(chunk.get(offset), location)
  const size = readInteger(chunk.get(length), location)
  if (start === undefined && size === undefined) return undefined
  if (start === undefined || size === undefined) throw new NotCopyableError('a page index has no offset or no length')
  return { start, end: start + size }
}

function requireKnown(kind: keyof typeof KNOWN, fields: StoredStruct): void {
  const unknown = [...fields.keys()].find((id) => !KNOWN[kind].has(id))
  if (unknown === undefined) return
  if (kind === 'file' && (unknown === 8 || unknown === 9)) throw new NotCopyableError('it is encrypted')
  throw new NotCopyableError(`${MEANING[kind]} has the field ${unknown}, which is not known here`)
}

/** Pages of different leaves must not share bytes: otherwise a small file could become a very large one. */
function requireSeparate(rowGroups: readonly StoredRowGroup[], dataEnd: number): void {
  const ranges = rowGroups.flatMap(({ chunks }) => chunks.map(({ pages }) => pages))
  let last = 4
  for (const { start, end } of ranges.filter(({ start, end }) => start !== end).toSorted((a, b) => a.start - b.start)) {
    if (start < last || end < start || end > dataEnd) {
      throw new NotCopyableError('its column chunks overlap, or are outside of the file')
    }
    last = end
  }
}

/** Reads the length of a Bloom filter from its header (parquet.thrift, `BloomFilterHeader`): header and bits. */
export function bloomFilterLength(head: Uint8Array, location: string): number {
  const reader = new CompactReader(head, location)
  let bits = -1
  reader.struct((id, type) => {
    if (id === 1 && type === COMPACT.i32) bits = reader.integer()
  })
  if (bits < 0) throw new NotCopyableError('a Bloom filter has no length')
  return reader.position + bits
}
