import { IcebergError } from '../../../iceberg/errors.ts'

import { COMPACT } from '../parquet/compact-reader.ts'
import { concat, encodeStruct, integerField, readInteger, readStored, structField } from '../parquet/compact-struct.ts'
import type { StoredStruct } from '../parquet/compact-struct.ts'
import { WIDE_DECIMAL_BYTES } from '../session/decimal-bytes.ts'
import type { LeafChange } from './leaf-change.ts'
import type { PageCodec } from './page-codec.ts'

/** A page as it is stored: its header (parquet.thrift, `PageHeader`) and its compressed bytes. */
export interface StoredPage {
  readonly header: StoredStruct
  readonly body: Uint8Array
}

/** A recoded page; bytes with and without compression count the header too, as column chunks do. */
export interface RecodedPage {
  readonly bytes: Uint8Array
  readonly plainSize: number
  readonly isDictionary: boolean
}

const DATA_PAGE = 0
const DICTIONARY_PAGE = 2
const PLAIN = 0
/** PLAIN_DICTIONARY, which also stands for PLAIN in the header of a dictionary, and RLE_DICTIONARY. */
const DICTIONARY_ENCODINGS: readonly number[] = [2, 8]
const LABEL = 'a new file'

/** Brings a page of the engine into the form of the table. `ENGINE_FAILED` for pages and values that are not as expected. */
export async function recodePage(page: StoredPage, change: LeafChange, codec: PageCodec): Promise<RecodedPage> {
  const { header } = page
  const type = integer(header, 1)
  const plain = await decompress(page, codec)
  const isDictionary = type === DICTIONARY_PAGE
  const inner = isDictionary ? 7 : 5
  if (!isDictionary && type !== DATA_PAGE) throw unexpected(change, `a page of type ${type}`)
  const data = readStored(header.get(inner)?.bytes ?? Uint8Array.of(0), LABEL)
  const recoded = isDictionary ? recodeValues(plain, change) : recodeData(plain, change, integer(data, 2))
  const body = await codec.compress(recoded)
  const kept = new Map(header)
  kept.delete(4) // the checksum is one of the old bytes
  const inside = new Map(data)
  if (!isDictionary) inside.delete(5) // statistics of the old form
  kept.set(inner, structField(inside))
  kept.set(2, integerField(recoded.length, COMPACT.i32))
  kept.set(3, integerField(body.length, COMPACT.i32))
  const head = encodeStruct(kept)
  return { bytes: concat([head, body]), plainSize: head.length + recoded.length, isDictionary }
}

async function decompress({ header, body }: StoredPage, codec: PageCodec): Promise<Uint8Array> {
  const length = integer(header, 2)
  const plain = await codec.decompress(body, length).catch((cause: unknown) => {
    throw new IcebergError('ENGINE_FAILED', 'a page of a new file cannot be decompressed', { cause })
  })
  if (plain.length !== length) throw new IcebergError('ENGINE_FAILED', 'a page of a new file has another length')
  return plain
}

/** Levels come first, each kind with its length; columns without a kind of levels have none of it. */
function recodeData(plain: Uint8Array, change: LeafChange, encoding: number): Uint8Array {
  let at = 0
  if (change.hasRepetitionLevels) at += levelBytes(plain, at)
  if (change.hasDefinitionLevels) at += levelBytes(plain, at)
  const values = plain.subarray(at)
  const levels = change.becomesRequired ? new Uint8Array() : plain.subarray(0, at)
  if (change.values === undefined || DICTIONARY_ENCODINGS.includes(encoding)) return concat([levels, values])
  if (encoding !== PLAIN) throw unexpected(change, `values of encoding ${encoding}`)
  return concat([levels, recodeValues(values, change)])
}

function levelBytes(plain: Uint8Array, at: number): number {
  return 4 + new DataView(plain.buffer, plain.byteOffset, plain.length).getUint32(at, true)
}

function recodeValues(plain: Uint8Array, change: LeafChange): Uint8Array {
  if (change.values === undefined) return plain
  const { from, length } = change.values
  const width = from === 'bytes' ? 4 + length : WIDE_DECIMAL_BYTES
  if (plain.length % width !== 0) throw wrongLength(change)
  const view = new DataView(plain.buffer, plain.byteOffset, plain.length)
  const count = plain.length / width
  const recoded = new Uint8Array(count * length)
  for (let at = 0; at < count; at += 1) {
    const start = at * width
    const isRight = from === 'bytes' ? view.getUint32(start, true) === length : isSign(plain, start, width - length)
    if (!isRight) throw wrongLength(change)
    recoded.set(plain.subarray(start + width - length, start + width), at * length)
  }
  return recoded
}

/** Whether the first bytes of a number only repeat its sign. */
function isSign(plain: Uint8Array, start: number, bytes: number): boolean {
  const sign = (plain[start + bytes] ?? 0) < 128 ? 0 : 255
  for (let at = start; at < start + bytes; at += 1) if (plain[at] !== sign) return false
  return true
}

function integer(fields: StoredStruct, id: number): number {
  return readInteger(fields.get(id), LABEL) ?? -1
}

function wrongLength({ path, values }: LeafChange): IcebergError {
  return new IcebergError('ENGINE_FAILED', `a value of column ${path} does not fit into ${values?.length} bytes`)
}

function unexpected({ path }: LeafChange, what: string): IcebergError {
  return new IcebergError('ENGINE_FAILED', `column ${path} of a new file has ${what}, which was not expected`)
}
