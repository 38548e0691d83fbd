import type { FileIO } from '../../../iceberg/io/file-io.ts'

import { JoinedWriter } from '../parquet/joined-writer.ts'
import type { CopiedRange } from '../parquet/joined-writer.ts'
import { joinedFooter } from './joined-footer.ts'
import type { PlacedChunk, PlacedRowGroup } from './joined-footer.ts'
import { namingFile, NotCopyableError } from '../parquet/not-copyable-error.ts'
import { movedOffsetIndex } from './page-index.ts'
import { PageWalk } from './page-walk.ts'
import { bloomFilterLength } from '../parquet/stored-footer.ts'
import type { ByteRange, StoredChunk, StoredFooter, StoredRowGroup } from '../parquet/stored-footer.ts'
import { integerField, readInteger } from '../parquet/compact-struct.ts'
import { plainSize } from './lineage-leaves.ts'
import { WindowReader } from './window-reader.ts'

/** A new file whose row groups were copied. */
export interface JoinedFile {
  readonly path: string
  readonly sizeBytes: number
  readonly rowGroups: readonly PlacedRowGroup[]
  /** The footer without its length. */
  readonly footer: Uint8Array
  /** Everything that was copied byte for byte, in the order of the file. */
  readonly copied: readonly CopiedRange[]
}

export interface JoinTarget {
  readonly io: FileIO
  /** A free path on this machine. */
  readonly path: string
  /** Throws when the copy is cancelled. */
  readonly check: () => void
  /** Called after each row group with its rows. */
  readonly onRows?: (rows: number) => void
  /** Only the given columns are wanted, so that no bytes between them are read. */
  readonly isSparse?: boolean
  /** Columns that the new file has besides the copied ones. */
  readonly added?: AddedColumns
}

/** The lineage columns of a new file, which are written and not copied. */
export interface AddedColumns {
  /** Writes the pages of the columns for the next row group, which has this number of rows. */
  readonly write: (writer: JoinedWriter, rows: number) => Promise<readonly AddedChunk[]>
}

/** A column chunk that was written, with its page indexes (parquet.thrift, `ColumnIndex` and `OffsetIndex`). */
export interface AddedChunk {
  readonly placed: PlacedChunk
  readonly columnIndex: Uint8Array
  readonly offsetIndex: Uint8Array
}

const MAGIC = new TextEncoder().encode('PAR1')
/** A Bloom filter's header has a few bytes. */
const BLOOM_HEAD_BYTES = 64

/**
 * Writes a Parquet file with the row groups of other files, in their order: first the pages, then Bloom filters, column indexes, offset
 * indexes and the footer. With `added`, each row group ends with the pages of these columns. Bytes are copied as they are; only absolute offsets change. `NotCopyableError` when pages or
 * indexes are not as the footer says; errors of the FileIO and of the file system. A file that is not finished stays at `path`.
 */
export async function joinFiles(inputs: readonly StoredFooter[], target: JoinTarget): Promise<JoinedFile> {
  const writer = await JoinedWriter.create(target.path)
  try {
    await writer.write(MAGIC)
    const parts: Parts[] = []
    for (const input of inputs) parts.push(await namingFile(input.location, () => copyPages(input, writer, target)))
    const placed = parts.flatMap(({ input, rowGroups, columnIndexes }) =>
      rowGroups.flatMap(({ chunks }) =>
        chunks.filter((chunk) => !columnIndexes.has(chunk)).map((chunk) => ({ chunk, input })),
      ),
    )
    await copyBloomFilters(placed, writer, target)
    await copyColumnIndexes(placed, writer, target)
    await writeIndexes(parts, writer)
    const rowGroups = parts.flatMap((part) => part.rowGroups)
    const footer = joinedFooter(inputs, rowGroups, { hasLineage: target.added !== undefined })
    await writer.write(footer)
    await writer.write(ending(footer.length))
    return { path: target.path, sizeBytes: writer.position, rowGroups, footer, copied: writer.copied }
  } finally {
    await writer.close()
  }
}

/** What was copied from one file. */
interface Parts {
  readonly input: StoredFooter
  readonly rowGroups: readonly PlacedRowGroup[]
  /** Offset indexes with the new offsets. */
  readonly offsetIndexes: ReadonlyMap<PlacedChunk, Uint8Array>
  /** Column indexes of the columns that were written. */
  readonly columnIndexes: ReadonlyMap<PlacedChunk, Uint8Array>
}

async function copyPages(input: StoredFooter, writer: JoinedWriter, target: JoinTarget): Promise<Parts> {
  const pages = new WindowReader(target.io, input, target.isSparse)
  const indexes = new WindowReader(target.io, input)
  const offsetIndexes = new Map<PlacedChunk, Uint8Array>()
  const columnIndexes = new Map<PlacedChunk, Uint8Array>()
  const rowGroups: PlacedRowGroup[] = []
  for (const source of input.rowGroups) {
    const chunks: PlacedChunk[] = []
    for (const chunk of source.chunks) {
      target.check()
      const walk = new PageWalk(input.location)
      const range = await writer.copy(watched(pages.read(chunk.pages), walk))
      const walked = walk.finish(chunk.values)
      const placed = { source: chunk, pages: range, dataStart: range.start + (walked[0]?.at ?? 0) }
      chunks.push(placed)
      if (chunk.offsetIndex === undefined) continue
      const stored = await indexes.bytes(requireInside(chunk.offsetIndex, input))
      const moves = { pages: walked, from: chunk.pages.start, to: range.start }
      offsetIndexes.set(placed, movedOffsetIndex(stored, moves, input.location))
    }
    const added = (await target.added?.write(writer, source.rows)) ?? []
    for (const { placed, columnIndex, offsetIndex } of added) {
      chunks.push(placed)
      columnIndexes.set(placed, columnIndex)
      offsetIndexes.set(placed, offsetIndex)
    }
    rowGroups.push({ source: withChunks(source, added), chunks })
    target.onRows?.(source.rows)
  }
  return { input, rowGroups, offsetIndexes, columnIndexes }
}

/** A row group with more column chunks than were copied. */
function withChunks(source: StoredRowGroup, added: readonly AddedChunk[]): StoredRowGroup {
  if (added.length === 0) return source
  const chunks = added.map(({ placed }) => placed.source)
  const size = readInteger(source.fields.get(2), 'a row group') ?? 0
  const more = chunks.reduce((sum, chunk) => sum + plainSize(chunk), 0)
  return {
    fields: new Map([...source.fields, [2, integerField(size + more)]]),
    rows: source.rows,
    bytes: source.bytes + chunks.reduce((sum, { pages }) => sum + pages.end - pages.start, 0),
    chunks: [...source.chunks, ...chunks],
  }
}

async function* watched(parts: AsyncIterable<Uint8Array>, walk: PageWalk): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    walk.push(part)
    yield part
  }
}

interface Placed {
  readonly chunk: PlacedChunk
  readonly input: StoredFooter
}

async function copyBloomFilters(placed: readonly Placed[], writer: JoinedWriter, { io, check }: JoinTarget) {
  const readers = new Readers(io)
  for (const { chunk, input } of placed) {
    const filter = chunk.source.bloomFilter
    if (filter === undefined) continue
    check()
    const reader = readers.of(input)
    const head = requireInside(
      { start: filter.start, end: Math.min(filter.start + BLOOM_HEAD_BYTES, input.fileSize) },
      input,
    )
    const length = bloomFilterLength(await reader.bytes(head), input.location)
    requireSameLength(length, filter)
    const range = requireInside({ start: filter.start, end: filter.start + length }, input)
    chunk.bloomFilter = await writer.copy(reader.read(range))
  }
}

/** The length in the header is the one that readers use; another one in the footer says that one of them is wrong. */
function requireSameLength(length: number, filter: NonNullable<StoredChunk['bloomFilter']>): void {
  if (filter.length !== undefined && filter.length !== length) {
    throw new NotCopyableError('a Bloom filter has another length than the footer says')
  }
}

async function copyColumnIndexes(placed: readonly Placed[], writer: JoinedWriter, { io, check }: JoinTarget) {
  const readers = new Readers(io)
  for (const { chunk, input } of placed) {
    const range = chunk.source.columnIndex
    if (range === undefined) continue
    check()
    chunk.columnIndex = await writer.copy(readers.of(input).read(requireInside(range, input)))
  }
}

async function writeIndexes(parts: readonly Parts[], writer: JoinedWriter): Promise<void> {
  for (const { columnIndexes } of parts) {
    for (const [chunk, bytes] of columnIndexes) {
      const start = writer.position
      await writer.write(bytes)
      chunk.columnIndex = { start, end: writer.position }
    }
  }
  for (const { offsetIndexes } of parts) {
    for (const [chunk, bytes] of offsetIndexes) {
      const start = writer.position
      await writer.write(bytes)
      chunk.offsetIndex = { start, end: writer.position }
    }
  }
}

/** One reader for the file that is read, so that only one window is in memory. */
class Readers {
  readonly #io: FileIO
  #current: { readonly input: StoredFooter; readonly reader: WindowReader } | undefined

  constructor(io: FileIO) {
    this.#io = io
  }

  of(input: StoredFooter): WindowReader {
    if (this.#current?.input !== input) this.#current = { input, reader: new WindowReader(this.#io, input) }
    return this.#current.reader
  }
}

function requireInside(range: ByteRange, { fileSize }: StoredFooter): ByteRange {
  if (range.start >= 4 && range.end >= range.start && range.end <= fileSize) return range
  throw new NotCopyableError('an index or a Bloom filter is outside of the file')
}

function ending(footerLength: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setUint32(0, footerLength, true)
  bytes.set(MAGIC, 4)
  return bytes
}
