import { open, rename } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

import { IcebergError } from '../../../iceberg/errors.ts'
import { LocalFileIO } from '../../../iceberg/io/local.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { COMPACT } from '../parquet/compact-reader.ts'
import {
  concat,
  encodeStruct,
  integerField,
  readMeasured,
  readInteger,
  readStored,
  structField,
  structList,
} from '../parquet/compact-struct.ts'
import type { StoredField, StoredStruct } from '../parquet/compact-struct.ts'
import { JoinedWriter } from '../parquet/joined-writer.ts'
import { readStoredFooter } from '../parquet/stored-footer.ts'
import type { ByteRange, StoredChunk, StoredFooter, StoredRowGroup } from '../parquet/stored-footer.ts'
import { leafChanges } from './leaf-change.ts'
import type { LeafChange } from './leaf-change.ts'
import type { PageCodec } from './page-codec.ts'
import { recodePage } from './recode-page.ts'

/** Sizes of a recoded file, in bytes. */
export interface RecodedSizes {
  readonly sizeBytes: number
  /** Sum over the column chunks of each leaf, in the order of the leaves. */
  readonly leafBytes: readonly number[]
}

const MAGIC = new TextEncoder().encode('PAR1')
const COPY_BYTES = 8 * 1_048_576
/** The headers of the engine's pages have a few dozen bytes. */
const HEADER_BYTES = 4096
const FIXED = 7
const OPTIONAL_TO_REQUIRED = 0

/**
 * Brings a file of the engine into the form that its table asks for: other values in pages, no definition levels in required columns, and a
 * footer that says so. All other bytes are copied. Undefined when nothing has to change; then the file stays as it is.
 */
export async function recodeFile(
  path: string,
  fields: readonly NestedField[],
  { codec, check }: { readonly codec: PageCodec; readonly check: () => void },
): Promise<RecodedSizes | undefined> {
  const footer = await readStoredFooter(new LocalFileIO(), path)
  const changes = leafChanges(footer, fields)
  if (changes.length === 0) return undefined
  const target = `${path}.recoded`
  const source = await open(path, 'r')
  try {
    const writer = await JoinedWriter.create(target)
    try {
      const work = new Recoding({ source, writer, footer, changes, codec, check })
      const leafBytes = await work.run()
      await writer.close()
      await rename(target, path)
      return { sizeBytes: writer.position, leafBytes }
    } catch (error) {
      await writer.close().catch(() => undefined)
      throw error
    }
  } finally {
    await source.close()
  }
}

interface RecodingParts {
  readonly source: FileHandle
  readonly writer: JoinedWriter
  readonly footer: StoredFooter
  readonly changes: readonly LeafChange[]
  readonly codec: PageCodec
  readonly check: () => void
}

interface WrittenChunk {
  readonly source: StoredChunk
  readonly change: LeafChange | undefined
  readonly pages: ByteRange
  readonly dataStart: number
  readonly plainSize: number
  bloomFilter?: ByteRange
}

class Recoding {
  readonly #parts: RecodingParts
  readonly #byLeaf: ReadonlyMap<number, LeafChange>

  constructor(parts: RecodingParts) {
    this.#parts = parts
    this.#byLeaf = new Map(parts.changes.map((change) => [change.leaf, change]))
  }

  /** Writes the file; returns the bytes of each leaf. */
  async run(): Promise<readonly number[]> {
    const { writer, footer } = this.#parts
    await writer.write(MAGIC)
    const groups: { readonly source: StoredRowGroup; readonly chunks: readonly WrittenChunk[] }[] = []
    for (const source of footer.rowGroups) {
      const chunks: WrittenChunk[] = []
      for (const [leaf, chunk] of source.chunks.entries()) chunks.push(await this.#writeChunk(chunk, leaf))
      groups.push({ source, chunks })
    }
    for (const { chunks } of groups) for (const chunk of chunks) await this.#copyBloomFilter(chunk)
    const bytes = encodeStruct(
      new Map([
        ...footer.fields,
        [2, structList(this.#schema())],
        [4, structList(groups.map(({ source, chunks }) => encodeGroup(source, chunks)))],
      ]),
    )
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, bytes.length, true)
    await writer.write(concat([bytes, length, MAGIC]))
    const leaves = footer.rowGroups[0]?.chunks.length ?? 0
    return Array.from({ length: leaves }, (_, leaf) =>
      groups.reduce((sum, { chunks }) => sum + sizeOf(chunks[leaf]?.pages), 0),
    )
  }

  async #writeChunk(source: StoredChunk, leaf: number): Promise<WrittenChunk> {
    const { writer, footer, check } = this.#parts
    check()
    const change = this.#byLeaf.get(leaf)
    const start = writer.position
    if (change !== undefined) return this.#recodeChunk(source, change)
    await this.#copy(source.pages)
    const plainSize = readInteger(source.meta.get(6), footer.location) ?? 0
    const dataStart = start + source.dataStart - source.pages.start
    return { source, change, pages: { start, end: writer.position }, dataStart, plainSize }
  }

  async #recodeChunk(source: StoredChunk, change: LeafChange): Promise<WrittenChunk> {
    const { writer, footer, codec, check } = this.#parts
    const start = writer.position
    let dataStart: number | undefined
    let plainSize = 0
    for (let at = source.pages.start; at < source.pages.end;) {
      check()
      const head = await this.#read(at, Math.min(at + HEADER_BYTES, source.pages.end))
      const { fields: header, length } = readMeasured(head, footer.location)
      const end = at + length + (readInteger(header.get(3), footer.location) ?? 0)
      if (end > source.pages.end) throw new IcebergError('ENGINE_FAILED', 'a page of a new file is cut off')
      const page = await recodePage({ header, body: await this.#read(at + length, end) }, change, codec)
      if (!page.isDictionary) dataStart ??= writer.position
      plainSize += page.plainSize
      await writer.write(page.bytes)
      at = end
    }
    return { source, change, pages: { start, end: writer.position }, dataStart: dataStart ?? start, plainSize }
  }

  /** The hashes are of the values' own bytes, which those of narrower decimals are not. */
  async #copyBloomFilter(chunk: WrittenChunk): Promise<void> {
    const { writer } = this.#parts
    const { bloomFilter } = chunk.source
    if (bloomFilter?.length === undefined || chunk.change?.values?.from === 'decimal') return
    const start = writer.position
    await this.#copy({ start: bloomFilter.start, end: bloomFilter.start + bloomFilter.length })
    chunk.bloomFilter = { start, end: writer.position }
  }

  #schema(): readonly Uint8Array[] {
    const { footer, changes } = this.#parts
    const schema = [...footer.schema]
    for (const { element, becomesRequired, values } of changes) {
      const node = new Map(readStored(schema[element] ?? new Uint8Array([0]), footer.location))
      if (becomesRequired) node.set(3, integerField(OPTIONAL_TO_REQUIRED, COMPACT.i32))
      if (values !== undefined) {
        node.set(1, integerField(FIXED, COMPACT.i32))
        node.set(2, integerField(values.length, COMPACT.i32))
      }
      schema[element] = encodeStruct(node)
    }
    return schema
  }

  async #copy({ start, end }: ByteRange): Promise<void> {
    for (let at = start; at < end; at += COPY_BYTES) {
      await this.#parts.writer.write(await this.#read(at, Math.min(end, at + COPY_BYTES)))
    }
  }

  async #read(start: number, end: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(end - start)
    for (let done = 0; done < bytes.length;) {
      const { bytesRead } = await this.#parts.source.read(bytes, done, bytes.length - done, start + done)
      if (bytesRead === 0) throw new IcebergError('ENGINE_FAILED', 'a new file is shorter than its footer says')
      done += bytesRead
    }
    return bytes
  }
}

function sizeOf(range: ByteRange | undefined): number {
  return range === undefined ? 0 : range.end - range.start
}

function encodeGroup(source: StoredRowGroup, chunks: readonly WrittenChunk[]): Uint8Array {
  const fields = new Map<number, StoredField>([
    ...source.fields,
    [1, structList(chunks.map(encodeChunk))],
    [2, integerField(chunks.reduce((sum, { plainSize }) => sum + plainSize, 0))],
  ])
  if (fields.has(5)) fields.set(5, integerField(Math.min(...chunks.map(({ pages }) => pages.start))))
  if (fields.has(6)) fields.set(6, integerField(chunks.reduce((sum, { pages }) => sum + sizeOf(pages), 0)))
  return encodeStruct(fields)
}

function encodeChunk({ source, change, pages, dataStart, plainSize, bloomFilter }: WrittenChunk): Uint8Array {
  const meta = new Map(source.meta)
  if (change?.values !== undefined) {
    meta.set(1, integerField(FIXED, COMPACT.i32))
    const statistics = meta.get(12)
    if (statistics !== undefined && change.values.from === 'decimal') {
      meta.set(12, structField(narrowStatistics(readStored(statistics.bytes, 'a new file'), change.values.length)))
    }
  }
  meta.set(6, integerField(plainSize))
  meta.set(7, integerField(sizeOf(pages)))
  meta.set(9, integerField(dataStart))
  if (dataStart > pages.start) meta.set(11, integerField(pages.start))
  else meta.delete(11)
  meta.delete(14)
  meta.delete(15)
  if (bloomFilter !== undefined) {
    meta.set(14, integerField(bloomFilter.start))
    meta.set(15, integerField(sizeOf(bloomFilter), COMPACT.i32))
  }
  const chunk = new Map(source.chunk)
  // the engine writes no page indexes; if it did, they would be about other pages
  for (const id of [4, 5, 6, 7]) chunk.delete(id)
  if (chunk.has(2)) chunk.set(2, integerField(pages.start))
  chunk.set(3, structField(meta))
  return encodeStruct(chunk)
}

/** Least and greatest values of decimals without the bytes that only repeat their sign. */
function narrowStatistics(statistics: StoredStruct, length: number): StoredStruct {
  const narrowed = new Map(statistics)
  for (const id of [1, 2, 5, 6]) {
    const stored = statistics.get(id)
    if (stored === undefined) continue
    // one byte has the length of the value, which has 16 bytes
    const value = stored.bytes.subarray(1)
    if (stored.bytes[0] !== 16 || value.length !== 16) narrowed.delete(id)
    else narrowed.set(id, { type: stored.type, bytes: concat([Uint8Array.of(length), value.subarray(16 - length)]) })
  }
  return narrowed
}
