import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

import { IcebergError } from '../../../iceberg/errors.ts'

import { COMPACT, CompactReader } from './compact-reader.ts'

/** Numbers of physical types in parquet.thrift. */
export const PHYSICAL = { INT96: 3, FLOAT: 4, DOUBLE: 5, FIXED_LEN_BYTE_ARRAY: 7 } as const

/** A node of a file's schema. */
export interface ParquetNode {
  readonly name: string
  readonly fieldId?: number
  readonly repetition: 'required' | 'optional' | 'repeated'
  /** Number of the physical type (`Type` of parquet.thrift); undefined for a group. */
  readonly physical?: number
  /** How a group is annotated; undefined: as neither. */
  readonly annotation?: 'list' | 'map'
  /** Whether the values are timestamps in nanoseconds. */
  readonly isNanos: boolean
  /** Whether the values are timestamps in milliseconds. */
  readonly isMillis: boolean
  /** Position of a primitive among the leaves of the file, which is that of its column chunks. */
  readonly leaf?: number
  readonly children: readonly ParquetNode[]
  /** Offset in the footer of the byte with the physical type; 0 for a group. */
  readonly typeAt: number
}

/** Content of the footers of one leaf in one row group. */
export interface ColumnChunk {
  /** Number of the codec (`CompressionCodec` of parquet.thrift). */
  readonly codec: number
  /** Number of the physical type. */
  readonly physical: number
  /** Whether pages may have the encoding BYTE_STREAM_SPLIT. */
  readonly isByteStreamSplit: boolean
  /** Values including nulls, and one entry for each empty list. */
  readonly values: number
  /** Number of the entries without a value; undefined when the file does not say. */
  readonly nulls?: number
  /** Whether statistics name a least or greatest value, so that at least one value is not null. */
  readonly hasBounds: boolean
  /** First byte of the pages. */
  readonly start: number
  /** Bytes of the pages. */
  readonly size: number
  /** Bytes of the pages without compression. */
  readonly plainSize: number
  /** Offset in the footer of the byte with the physical type. */
  readonly typeAt: number
}

/** A Parquet footer, read without the engine. */
export interface ParquetFooter {
  readonly root: ParquetNode
  /** Encoded elements of the schema, the root first. */
  readonly schema: readonly Uint8Array[]
  readonly rowCount: number
  /** The programs that wrote the file and its pages; none when unknown. */
  readonly writers: readonly string[]
  /** Column chunks of each row group, by leaf. */
  readonly rowGroups: readonly (readonly ColumnChunk[])[]
  /** The same text for files whose schemas have the same bytes. */
  readonly layout: string
  /** The footer itself, without its length and the magic bytes. */
  readonly bytes: Uint8Array
  readonly fileSize: number
}

const TAIL_BYTES = 65_536
/** Length of the footer, and the magic bytes. */
const END_BYTES = 8
const MAX_DEPTH = 200
/** A footer has about 100 bytes for each column chunk, and the engine has a kilobyte of memory for each. */
const MAX_FOOTER_BYTES = 256 * 1_048_576
const MAX_CHUNKS = 262_144

/**
 * Reads the footer of a Parquet file (parquet.thrift, `FileMetaData`). `location` names the file in errors. `CORRUPT_FILE` for
 * bytes that are no footer, `UNSUPPORTED` for encrypted files, for columns that are stored in other files, and for footers that need too much
 * memory.
 */
export async function readFooter(path: string, location: string): Promise<ParquetFooter> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const bytes = await footerBytes(file, size, location)
    return { ...parseFooter(bytes, location), bytes, fileSize: size }
  } finally {
    await file.close()
  }
}

/** Bytes of one value in the engine's memory, besides the bytes of a text. */
const VALUE_BYTES = 16

/** About how many bytes the rows of a file have in the engine's memory, at least. */
export function memoryBytes({ rowGroups }: Pick<ParquetFooter, 'rowGroups'>): number {
  let sum = 0
  for (const chunks of rowGroups) for (const { values, plainSize } of chunks) sum += values * VALUE_BYTES + plainSize
  return sum
}

/** Rows that the engine reads together, at most. */
const VECTOR_ROWS = 2048

/** About how many bytes the rows that the engine reads together have in its memory, for the widest row group of a file. */
export function vectorBytes({ rowGroups }: Pick<ParquetFooter, 'rowGroups'>): number {
  const sizes = rowGroups.map((chunks) => {
    // a row has at least one entry in each leaf
    const rows = chunks.reduce((least, { values }) => Math.min(least, values), Infinity)
    return rows > 0 ? memoryBytes({ rowGroups: [chunks] }) * Math.min(1, VECTOR_ROWS / rows) : 0
  })
  return Math.max(0, ...sizes)
}

async function footerBytes(file: FileHandle, size: number, location: string): Promise<Uint8Array> {
  const tail = await readAt(file, Math.max(0, size - TAIL_BYTES), Math.min(size, TAIL_BYTES))
  const magic = new TextDecoder('latin1').decode(tail.subarray(-4))
  if (magic === 'PARE') throw new IcebergError('UNSUPPORTED', `${location} is encrypted and cannot be read`)
  if (size < 4 + END_BYTES || magic !== 'PAR1') {
    throw new IcebergError('CORRUPT_FILE', `${location} is not a Parquet file: it does not end with the bytes PAR1`)
  }
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(tail.length - END_BYTES, true)
  const start = size - END_BYTES - length
  if (start < 4) throw new IcebergError('CORRUPT_FILE', `the Parquet footer of ${location} is longer than the file`)
  if (length > MAX_FOOTER_BYTES) throw tooLarge(location, `${MAX_FOOTER_BYTES} bytes`)
  if (length + END_BYTES <= tail.length) return tail.subarray(tail.length - END_BYTES - length, tail.length - END_BYTES)
  return readAt(file, start, length)
}

function tooLarge(location: string, limit: string): IcebergError {
  return new IcebergError('UNSUPPORTED', `the Parquet footer of ${location} has more than ${limit}`)
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

/** Reads the bytes of a footer, see {@link readFooter}. */
function parseFooter(bytes: Uint8Array, location: string): Omit<ParquetFooter, 'bytes' | 'fileSize'> {
  const reader = new CompactReader(bytes, location)
  const elements: SchemaElement[] = []
  const schema: Uint8Array[] = []
  const rowGroups: ColumnChunk[][] = []
  let layout = ''
  let rowCount = 0
  const writers: string[] = []
  let chunks = 0
  let rows = 0
  const addRowGroup = (): void => {
    const group = readRowGroup(reader, location, (count) => (rows += count))
    chunks += Math.max(1, group.length)
    if (chunks > MAX_CHUNKS) throw tooLarge(location, `${MAX_CHUNKS} column chunks`)
    rowGroups.push(group)
  }
  reader.struct((id) => {
    if (id === 2) {
      const start = reader.position
      reader.list(() => {
        const at = reader.position
        elements.push(readElement(reader))
        schema.push(bytes.subarray(at, reader.position))
      })
      layout = new TextDecoder('latin1').decode(bytes.subarray(start, reader.position))
    } else if (id === 3) rowCount = reader.integer()
    else if (id === 4) reader.list(addRowGroup)
    else if (id === 5) reader.list(() => writers.push(...readOriginalWriters(reader)))
    else if (id === 6) writers.unshift(reader.text())
    else if (id === 8) throw new IcebergError('UNSUPPORTED', `${location} is encrypted and cannot be read`)
  })
  const { root, leaves } = buildTree(elements, location)
  if (rows !== rowCount) {
    throw new IcebergError(
      'CORRUPT_FILE',
      `the row groups of ${location} have ${rows} rows, but its footer says ${rowCount}`,
    )
  }
  if (rowGroups.some((chunks) => chunks.length !== leaves)) {
    throw new IcebergError('CORRUPT_FILE', `the Parquet footer of ${location} does not have one chunk for each column`)
  }
  return { root, schema, rowCount, writers, rowGroups, layout }
}

/** Key of the programs that wrote the pages of a joined file, one per line; the name is that of Parquet's own rewriter in Java. */
export const ORIGINAL_WRITERS = 'original.created.by'

function readOriginalWriters(reader: CompactReader): readonly string[] {
  let [key, value] = ['', '']
  reader.struct((id) => {
    if (id === 1) key = reader.text()
    if (id === 2 && key === ORIGINAL_WRITERS) value = reader.text()
  })
  return value === '' ? [] : value.split('\n')
}

interface SchemaElement {
  name: string
  fieldId?: number
  repetition: ParquetNode['repetition']
  physical?: number
  annotation?: 'list' | 'map'
  isNanos: boolean
  isMillis: boolean
  childCount: number
  typeAt: number
}

const REPETITIONS = ['required', 'optional', 'repeated'] as const
const TIMESTAMP_MILLIS = 9
const BYTE_STREAM_SPLIT = 9
/** Converted types of groups; MAP_KEY_VALUE on an outer group was written for MAP by mistake (LogicalTypes.md, "Maps"). */
const ANNOTATIONS: Readonly<Record<number, 'list' | 'map'>> = { 1: 'map', 2: 'map', 3: 'list' }

function readElement(reader: CompactReader): SchemaElement {
  const units = { isNanos: false, isMillis: false }
  const element: SchemaElement = { name: '', repetition: 'required', ...units, childCount: 0, typeAt: 0 }
  reader.struct((id, type) => {
    switch (id) {
      case 1:
        element.typeAt = reader.position
        element.physical = reader.integer()
        break
      case 3:
        element.repetition = REPETITIONS[reader.integer()] ?? 'optional'
        break
      case 4:
        element.name = reader.text()
        break
      case 5:
        element.childCount = reader.integer()
        break
      case 6: {
        const converted = reader.integer()
        const annotation = ANNOTATIONS[converted]
        if (converted === TIMESTAMP_MILLIS) element.isMillis = true
        if (annotation !== undefined) element.annotation = annotation
        break
      }
      case 9:
        element.fieldId = reader.integer()
        break
      case 10:
        if (type === COMPACT.struct) readLogicalType(reader, element)
        break
      default:
    }
  })
  return element
}

function readLogicalType(reader: CompactReader, element: SchemaElement): void {
  reader.struct((kind) => {
    if (kind === 2) element.annotation = 'map'
    if (kind === 3) element.annotation = 'list'
    if (kind !== 8) return
    reader.struct((id) => {
      if (id !== 2) return
      reader.struct((unit) => {
        element.isNanos = unit === 3
        element.isMillis = unit === 1
      })
    })
  })
}

function readRowGroup(reader: CompactReader, location: string, onRows: (count: number) => void): ColumnChunk[] {
  const chunks: ColumnChunk[] = []
  reader.struct((id) => {
    if (id === 1) reader.list(() => chunks.push(readChunk(reader, location)))
    if (id === 3) onRows(reader.integer())
  })
  return chunks
}

function readChunk(reader: CompactReader, location: string): ColumnChunk {
  let chunk: ColumnChunk | undefined
  reader.struct((id) => {
    if (id === 1) throw new IcebergError('UNSUPPORTED', `${location} keeps columns in another file, ${reader.text()}`)
    if (id === 3) chunk = readChunkMetadata(reader)
    if (id === 8) throw new IcebergError('UNSUPPORTED', `${location} has encrypted columns and cannot be read`)
  })
  if (chunk !== undefined) return chunk
  throw new IcebergError('CORRUPT_FILE', `the Parquet footer of ${location} has a column chunk without metadata`)
}

function readChunkMetadata(reader: CompactReader): ColumnChunk {
  const flags = { hasBounds: false, isByteStreamSplit: false }
  const chunk = { codec: 0, physical: 0, values: 0, ...flags, size: 0, plainSize: 0, typeAt: 0 }
  let nulls: number | undefined
  const offsets: number[] = []
  reader.struct((id, type) => {
    if (id === 1) {
      chunk.typeAt = reader.position
      chunk.physical = reader.integer()
    } else if (id === 2) {
      reader.list(() => {
        if (reader.integer() === BYTE_STREAM_SPLIT) chunk.isByteStreamSplit = true
      })
    } else if (id === 4) chunk.codec = reader.integer()
    else if (id === 5) chunk.values = reader.integer()
    else if (id === 6) chunk.plainSize = reader.integer()
    else if (id === 7) chunk.size = reader.integer()
    else if (id === 9 || id === 11) offsets.push(reader.integer())
    else if (id === 12 && type === COMPACT.struct) {
      reader.struct((part) => {
        if (part === 3) nulls = reader.integer()
        else if (part === 1 || part === 2 || part === 5 || part === 6) chunk.hasBounds = true
      })
    }
  })
  const start = Math.min(...offsets.filter((offset) => offset > 0))
  return { ...chunk, start, ...(nulls === undefined ? {} : { nulls }) }
}

function buildTree(
  elements: readonly SchemaElement[],
  location: string,
): { readonly root: ParquetNode; readonly leaves: number } {
  let next = 0
  let leaves = 0
  const build = (depth: number): ParquetNode => {
    const element = elements[next++]
    if (element === undefined || depth > MAX_DEPTH)
      throw new IcebergError('CORRUPT_FILE', `the Parquet schema of ${location} is truncated or too deep`)
    const { childCount, ...node } = element
    const leaf = node.physical === undefined ? undefined : leaves++
    const children: ParquetNode[] = []
    for (let left = childCount; left > 0; left -= 1) children.push(build(depth + 1))
    return { ...node, children, ...(leaf === undefined ? {} : { leaf }) }
  }
  const root = build(0)
  return { root, leaves }
}
