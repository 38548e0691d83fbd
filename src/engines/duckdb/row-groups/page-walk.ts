import { isIcebergError } from '../../../iceberg/errors.ts'

import { concat, readInteger, readMeasured, readStored } from '../parquet/compact-struct.ts'
import type { StoredStruct } from '../parquet/compact-struct.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'

/** A data page by its distance from the start of the chunk, with its header; bytes. */
export interface WalkedPage {
  readonly at: number
  readonly size: number
}

/** Numbers of page types in parquet.thrift. */
const PAGE = { data: 0, dictionary: 2, dataV2: 3 } as const
/** In a page header: the field with the header of a data page, and in the latter the field with its encoding. */
const DATA_HEADER = { id: 5, encoding: 2 } as const
const DATA_HEADER_V2 = { id: 8, encoding: 4 } as const
/** PLAIN_DICTIONARY and RLE_DICTIONARY. */
const DICTIONARY_ENCODINGS: ReadonlySet<number> = new Set([2, 8])
/** A header has two values of statistics at most. */
const MAX_HEADER_BYTES = 1_048_576

/**
 * Follows the page headers of one column chunk while its bytes pass by in parts. {@link NotCopyableError} when the pages do not fill
 * the chunk, or have another number of entries than the footer says: then the footer is wrong about the chunk.
 */
export class PageWalk {
  readonly #location: string
  readonly #pages: WalkedPage[] = []
  /** Start of a header whose rest has not arrived. */
  #pending: Uint8Array = new Uint8Array()
  /** Bytes of the current page that have not arrived. */
  #ahead = 0
  #at = 0
  #entries = 0
  #headers = 0
  #hasDictionary = false

  constructor(location: string) {
    this.#location = location
  }

  /** Takes the next bytes of the chunk. */
  push(part: Uint8Array): void {
    let rest = part
    while (rest.length > 0) {
      const passed = Math.min(this.#ahead, rest.length)
      this.#ahead -= passed
      rest = rest.subarray(passed)
      if (rest.length > 0) rest = this.#header(rest)
    }
  }

  /** The data pages, after the last byte of a chunk with `values` entries. */
  finish(values: number): readonly WalkedPage[] {
    if (this.#ahead > 0 || this.#pending.length > 0) throw new NotCopyableError('the pages of a column do not end')
    if (this.#entries !== values) {
      throw new NotCopyableError(`the pages of a column have ${this.#entries} entries, but its footer says ${values}`)
    }
    return this.#pages
  }

  /** Reads a header that may be incomplete; returns the bytes behind it. */
  #header(part: Uint8Array): Uint8Array {
    const bytes = this.#pending.length === 0 ? part : concat([this.#pending, part])
    const header = this.#tryHeader(bytes)
    if (header === undefined) {
      if (bytes.length > MAX_HEADER_BYTES) throw new NotCopyableError('a page header cannot be read')
      // the part belongs to a buffer that is used again
      this.#pending = bytes.slice()
      return part.subarray(part.length)
    }
    this.#pending = new Uint8Array()
    const body = this.#integer(header.fields, 3)
    this.#count(header.fields, header.length + body)
    this.#ahead = body
    this.#at += header.length + body
    return bytes.subarray(header.length)
  }

  #tryHeader(bytes: Uint8Array): ReturnType<typeof readMeasured> | undefined {
    try {
      return readMeasured(bytes.subarray(0, MAX_HEADER_BYTES), this.#location)
    } catch (error) {
      if (isIcebergError(error, 'CORRUPT_FILE')) return undefined
      throw error
    }
  }

  #count(header: StoredStruct, size: number): void {
    const type = this.#integer(header, 1)
    this.#headers += 1
    if (type === PAGE.dictionary && this.#headers === 1) {
      this.#hasDictionary = true
      return
    }
    const layout = type === PAGE.data ? DATA_HEADER : type === PAGE.dataV2 ? DATA_HEADER_V2 : undefined
    const data = layout && header.get(layout.id)
    if (data === undefined) throw new NotCopyableError(`a column has a page of type ${type}`)
    const fields = readStored(data.bytes, this.#location)
    if (!this.#hasDictionary && DICTIONARY_ENCODINGS.has(this.#integer(fields, layout?.encoding ?? 0))) {
      throw new NotCopyableError('a column has no dictionary where its footer says')
    }
    this.#entries += this.#integer(fields, 1)
    this.#pages.push({ at: this.#at, size })
  }

  #integer(fields: StoredStruct, id: number): number {
    const value = readInteger(fields.get(id), this.#location)
    if (value !== undefined && value >= 0) return value
    throw new NotCopyableError('a page header lacks a size or a count')
  }
}
