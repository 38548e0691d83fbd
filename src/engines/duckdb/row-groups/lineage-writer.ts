import type { NestedField } from '../../../iceberg/schema/types.ts'

import { COMPACT } from '../parquet/compact-reader.ts'
import {
  binaryField,
  encodeStruct,
  integerField,
  structField,
  structList,
  textField,
  valueList,
} from '../parquet/compact-struct.ts'
import type { StoredField, StoredStruct } from '../parquet/compact-struct.ts'
import type { JoinedWriter } from '../parquet/joined-writer.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import type { PageCodec } from '../recode/page-codec.ts'
import type { AddedChunk, AddedColumns } from './join-files.ts'
import { LINEAGE } from './lineage-leaves.ts'
import { encodePage, joinRanges, longBytes, PLAIN, RLE } from './lineage-page.ts'
import type { LineagePage, LongRange } from './lineage-page.ts'
import type { LineageReader } from './lineage-values.ts'

/** Rows of a page: a quarter of a MiB for each column. */
const PAGE_ROWS = 32_768
/** Rows of a row group; the pages of one row group are in memory. */
const MAX_ROWS = 2 ** 24
const INT64 = 2

/** Writes the lineage columns of one new file, a pair of column chunks for each row group. */
export class LineageWriter implements AddedColumns {
  readonly #reader: LineageReader
  readonly #codec: PageCodec
  readonly #codecNumber: number
  readonly #ranges = new Map<number, LongRange>()

  constructor(reader: LineageReader, { codec, number }: { readonly codec: PageCodec; readonly number: number }) {
    this.#reader = reader
    this.#codec = codec
    this.#codecNumber = number
  }

  /** Least and greatest value of each column so far, by field id. */
  get ranges(): ReadonlyMap<number, LongRange> {
    return this.#ranges
  }

  async write(writer: JoinedWriter, rows: number): Promise<readonly AddedChunk[]> {
    if (rows > MAX_ROWS) throw new NotCopyableError(`a row group has ${rows} rows, more than ${MAX_ROWS}`)
    const pages: LineagePage[][] = LINEAGE.map(() => [])
    for (let left = rows; left > 0; left -= PAGE_ROWS) {
      const { rowIds, sequences } = await this.#reader.take(Math.min(left, PAGE_ROWS))
      for (const [at, values] of [rowIds, sequences].entries()) pages[at]?.push(await encodePage(values, this.#codec))
    }
    const added: AddedChunk[] = []
    for (const [at, field] of LINEAGE.entries()) added.push(await this.#writeChunk(writer, field, pages[at] ?? []))
    return added
  }

  async #writeChunk(writer: JoinedWriter, field: NestedField, pages: readonly LineagePage[]): Promise<AddedChunk> {
    const start = writer.position
    const locations: Uint8Array[] = []
    let firstRow = 0
    for (const { bytes, rows } of pages) {
      const size = integerField(bytes.length, COMPACT.i32)
      locations.push(
        encodeStruct(
          new Map([
            [1, integerField(writer.position)],
            [2, size],
            [3, integerField(firstRow)],
          ]),
        ),
      )
      firstRow += rows
      await writer.write(bytes)
    }
    const range = pages.reduce<LongRange | undefined>((all, page) => joinRanges(all, page.range), undefined)
    const ofFile = joinRanges(this.#ranges.get(field.id), range)
    if (ofFile !== undefined) this.#ranges.set(field.id, ofFile)
    const columnIndex = encodeColumnIndex(pages)
    const offsetIndex = encodeStruct(new Map([[1, structList(locations)]]))
    const place = { start, end: writer.position }
    const nulls = sum(pages, ({ nulls }) => nulls)
    const source = {
      chunk: new Map([[7, integerField(columnIndex.length, COMPACT.i32)]]),
      meta: this.#metadata(field, pages, { range, nulls, bytes: place.end - start }),
      pages: place,
      dataStart: start,
      codec: this.#codecNumber,
      values: firstRow,
      nulls,
      columnIndex: { start: 0, end: columnIndex.length },
      offsetIndex: { start: 0, end: offsetIndex.length },
      bloomFilter: undefined,
    }
    return { placed: { source, pages: place, dataStart: start }, columnIndex, offsetIndex }
  }

  /** `ColumnMetaData` in parquet.thrift, without offsets. */
  #metadata(
    { name }: NestedField,
    pages: readonly LineagePage[],
    { range, nulls, bytes }: { readonly range: LongRange | undefined; readonly nulls: number; readonly bytes: number },
  ): StoredStruct {
    const statistics = new Map<number, StoredField>([[3, integerField(nulls)]])
    if (range !== undefined) {
      statistics.set(5, binaryField(longBytes(range.upper)))
      statistics.set(6, binaryField(longBytes(range.lower)))
    }
    const encodings = [PLAIN, RLE].map((encoding) => integerField(encoding, COMPACT.i32).bytes)
    return new Map([
      [1, integerField(INT64, COMPACT.i32)],
      [2, valueList(COMPACT.i32, encodings)],
      [3, valueList(COMPACT.binary, [textField(name).bytes])],
      [4, integerField(this.#codecNumber, COMPACT.i32)],
      [5, integerField(sum(pages, ({ rows }) => rows))],
      [6, integerField(sum(pages, ({ plainBytes }) => plainBytes))],
      [7, integerField(bytes)],
      [12, structField(statistics)],
    ])
  }
}

/** `ColumnIndex` in parquet.thrift; the order of the pages is left open. */
function encodeColumnIndex(pages: readonly LineagePage[]): Uint8Array {
  const bound = (side: keyof LongRange): StoredField =>
    valueList(
      COMPACT.binary,
      pages.map(({ range }) => binaryField(range === undefined ? new Uint8Array() : longBytes(range[side])).bytes),
    )
  const isNull = pages.map(({ range }) => Uint8Array.of(range === undefined ? COMPACT.true : COMPACT.false))
  return encodeStruct(
    new Map([
      [1, valueList(COMPACT.true, isNull)],
      [2, bound('lower')],
      [3, bound('upper')],
      [4, integerField(0, COMPACT.i32)],
      [
        5,
        valueList(
          COMPACT.i64,
          pages.map(({ nulls }) => integerField(nulls).bytes),
        ),
      ],
    ]),
  )
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((all, item) => all + count(item), 0)
}
