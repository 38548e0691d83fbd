import {
  concat,
  encodeStruct,
  readStored,
  readStructs,
  structField,
  structList,
} from '../../../../src/engines/duckdb/parquet/compact-struct.ts'
import type { StoredField, StoredStruct } from '../../../../src/engines/duckdb/parquet/compact-struct.ts'

/** A Parquet file taken apart. */
export function footerOf(bytes: Uint8Array) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 8, true)
  const start = bytes.length - 8 - length
  return { start, fields: readStored(bytes.subarray(start, bytes.length - 8), 'a test') }
}

/** A change of a struct in a footer. */
export type Change = (fields: StoredStruct) => StoredStruct

/** The bytes of a Parquet file with another footer. */
export function withChangedFooter(bytes: Uint8Array, change: Change): Uint8Array {
  const { start, fields } = footerOf(bytes)
  const footer = encodeStruct(change(fields))
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, footer.length, true)
  return concat([bytes.subarray(0, start), footer, length, new TextEncoder().encode('PAR1')])
}

/** Sets or removes a field. */
export const set =
  (id: number, value: StoredField | undefined): Change =>
  (fields) => {
    const changed = new Map(fields)
    if (value === undefined) changed.delete(id)
    else changed.set(id, value)
    return changed
  }

/** Changes an item of a list of structs, by default the first. */
export const inFirst =
  (id: number, change: Change, position = 0): Change =>
  (fields) => {
    const items = readStructs(fields.get(id), 'a test').map((item, at) =>
      at === position ? encodeStruct(change(readStored(item, 'a test'))) : item,
    )
    return set(id, structList(items))(fields)
  }

/** Changes a field that is a struct. */
export const inStruct =
  (id: number, change: Change): Change =>
  (fields) =>
    set(id, structField(change(readStored(fields.get(id)?.bytes ?? new Uint8Array(), 'a test'))))(fields)

/** Changes the first row group of a file. */
export const inGroup = (change: Change): Change => inFirst(4, change)
/** Changes the first column chunk of a file. */
export const inChunk = (change: Change): Change => inGroup(inFirst(1, change))
/** Changes the metadata of the first column chunk. */
export const inMeta = (change: Change): Change => inChunk(inStruct(3, change))
