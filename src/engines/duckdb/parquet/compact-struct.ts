import { IcebergError } from '../../../iceberg/errors.ts'

import { COMPACT, CompactReader } from './compact-reader.ts'

/** A field of a struct as it is stored: its type in the compact protocol, and the bytes of its value. */
export interface StoredField {
  readonly type: number
  readonly bytes: Uint8Array
}

/** The fields of a struct by id. Values stay encoded, so that a field which nobody changes is written as it was read. */
export type StoredStruct = ReadonlyMap<number, StoredField>

/** Reads the fields of a struct. `CORRUPT_FILE` names `location`, also for a field that occurs twice. */
export function readStored(bytes: Uint8Array, location: string): StoredStruct {
  return readMeasured(bytes, location).fields
}

/** Reads a struct from the start of longer bytes, and how many bytes it takes. Errors as {@link readStored}. */
export function readMeasured(
  bytes: Uint8Array,
  location: string,
): { readonly fields: StoredStruct; readonly length: number } {
  const reader = new CompactReader(bytes, location)
  const fields = new Map<number, StoredField>()
  reader.struct((id, type) => {
    if (fields.has(id)) throw new IcebergError('CORRUPT_FILE', `a struct in ${location} has the field ${id} twice`)
    const start = reader.position
    reader.skip(type)
    fields.set(id, { type, bytes: bytes.subarray(start, reader.position) })
  })
  return { fields, length: reader.position }
}

/** The encoded structs of a list; none when the field is missing. `CORRUPT_FILE` for a list of something else. */
export function readStructs(field: StoredField | undefined, location: string): readonly Uint8Array[] {
  if (field === undefined) return []
  const header = field.bytes[0] ?? 0
  const isEmpty = field.bytes.length === 1 && header >> 4 === 0
  if (field.type !== COMPACT.list || (!isEmpty && (header & 15) !== COMPACT.struct)) {
    throw new IcebergError('CORRUPT_FILE', `a list in ${location} does not have structs`)
  }
  const reader = new CompactReader(field.bytes, location)
  const items: Uint8Array[] = []
  reader.list(() => {
    const start = reader.position
    reader.skip(COMPACT.struct)
    items.push(field.bytes.subarray(start, reader.position))
  })
  return items
}

/** The integer of a field; undefined when the field is missing. `CORRUPT_FILE` for another type, and beyond 2^53. */
export function readInteger(field: StoredField | undefined, location: string): number | undefined {
  if (field === undefined) return undefined
  if (field.type < 4 || field.type > COMPACT.i64) throw new IcebergError('CORRUPT_FILE', `${location} has no integer`)
  const value = new CompactReader(field.bytes, location).integer()
  if (Number.isSafeInteger(value)) return value
  throw new IcebergError('CORRUPT_FILE', `${location} has an integer beyond 2^53`)
}

/** The text of a field; undefined when the field is missing. `CORRUPT_FILE` for another type. */
export function readText(field: StoredField | undefined, location: string): string | undefined {
  if (field === undefined) return undefined
  if (field.type !== COMPACT.binary) throw new IcebergError('CORRUPT_FILE', `${location} has no text`)
  return new CompactReader(field.bytes, location).text()
}

/** Encodes a struct: Thrift's compact protocol, fields in the order of their ids. */
export function encodeStruct(fields: StoredStruct): Uint8Array {
  const parts: Uint8Array[] = []
  let last = 0
  for (const [id, { type, bytes }] of [...fields].toSorted(([a], [b]) => a - b)) {
    const delta = id - last
    parts.push(delta > 0 && delta < 16 ? Uint8Array.of((delta << 4) | type) : Uint8Array.of(type, ...zigzag(id)), bytes)
    last = id
  }
  parts.push(Uint8Array.of(0))
  return concat(parts)
}

/** A list of encoded structs as a field. */
export function structList(items: readonly Uint8Array[]): StoredField {
  return valueList(COMPACT.struct, items)
}

/** A struct as a field. */
export function structField(fields: StoredStruct): StoredField {
  return { type: COMPACT.struct, bytes: encodeStruct(fields) }
}

/** A list of encoded values of one type as a field. */
export function valueList(type: number, items: readonly Uint8Array[]): StoredField {
  const count = items.length
  const header = count < 15 ? [(count << 4) | type] : [(15 << 4) | type, ...varint(BigInt(count))]
  return { type: COMPACT.list, bytes: concat([Uint8Array.from(header), ...items]) }
}

/** A safe integer as a field of 16 (4), 32 or 64 bits. */
export function integerField(value: number, type: 4 | 5 | 6 = COMPACT.i64): StoredField {
  return { type, bytes: Uint8Array.from(zigzag(value)) }
}

/** A text as a field. */
export function textField(text: string): StoredField {
  return binaryField(new TextEncoder().encode(text))
}

/** Bytes as a field. */
export function binaryField(bytes: Uint8Array): StoredField {
  return { type: COMPACT.binary, bytes: concat([Uint8Array.from(varint(BigInt(bytes.length))), bytes]) }
}

/** Puts bytes one after the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function zigzag(value: number): number[] {
  const wide = BigInt(value)
  return varint(wide >= 0n ? wide * 2n : -wide * 2n - 1n)
}

function varint(value: bigint): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return bytes
}
