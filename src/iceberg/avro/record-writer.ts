import type { AvroTypeJson } from './avro-schema.ts'
import type { ByteSink } from './byte-sink.ts'

/** Encodes one value. */
export type Writer<V> = (sink: ByteSink, value: V) => void

/** One field of a record: its place in the Avro schema, and how it is encoded from a source object. */
export interface WriteField<T> {
  readonly json: { readonly [key: string]: unknown }
  readonly write: Writer<T>
}

/** An Avro type together with its encoder, so that schema and bytes always match. */
export interface WriteType<V> {
  readonly json: AvroTypeJson
  readonly write: Writer<V>
}

/** Id, name and description of a field. */
export interface FieldName {
  readonly id: number
  readonly name: string
  readonly doc?: string
}

/** A field that is never null. */
export function writeRequired<T, V>(field: FieldName, type: WriteType<V>, get: (source: T) => V): WriteField<T> {
  return { json: fieldJson(field, type.json), write: (sink, source) => type.write(sink, get(source)) }
}

/** A field that is null where `get` gives undefined. */
export function writeOptional<T, V>(
  field: FieldName,
  type: WriteType<V>,
  get: (source: T) => V | undefined,
): WriteField<T> {
  const write = (sink: ByteSink, source: T) => {
    const value = get(source)
    sink.writeNumber(value === undefined ? 0 : 1)
    if (value !== undefined) type.write(sink, value)
  }
  return { json: { ...fieldJson(field, ['null', type.json]), default: null }, write }
}

/** A record type of the given fields. */
export function recordType<T>(name: string, fields: readonly WriteField<T>[]): WriteType<T> {
  const write: Writer<T> = (sink, source) => {
    for (const field of fields) field.write(sink, source)
  }
  return { json: { type: 'record', name, fields: fields.map((field) => field.json) }, write }
}

/** An array type with Iceberg's `element-id`. */
export function arrayType<V>(elementId: number, element: WriteType<V>): WriteType<readonly V[]> {
  const write: Writer<readonly V[]> = (sink, items) => {
    if (items.length > 0) {
      sink.writeNumber(items.length)
      for (const item of items) element.write(sink, item)
    }
    sink.writeNumber(0)
  }
  return { json: { type: 'array', items: element.json, 'element-id': elementId }, write }
}

/** A map from field ids as an array of key-value records (Iceberg spec, Appendix A). */
export function idMapType<V>(keyId: number, valueId: number, value: WriteType<V>): WriteType<ReadonlyMap<number, V>> {
  const fields = [
    { name: 'key', type: 'int', 'field-id': keyId },
    { name: 'value', type: value.json, 'field-id': valueId },
  ]
  const write: Writer<ReadonlyMap<number, V>> = (sink, map) => {
    if (map.size > 0) {
      sink.writeNumber(map.size)
      for (const [key, entry] of map) {
        sink.writeNumber(key)
        value.write(sink, entry)
      }
    }
    sink.writeNumber(0)
  }
  const items = { type: 'record', name: `k${keyId}_v${valueId}`, fields }
  return { json: { type: 'array', items, logicalType: 'map' }, write }
}

export const intType: WriteType<number> = { json: 'int', write: (sink, value) => sink.writeNumber(value) }
export const longType: WriteType<number> = { json: 'long', write: (sink, value) => sink.writeNumber(value) }
export const bigLongType: WriteType<bigint> = { json: 'long', write: (sink, value) => sink.writeBigInt(value) }
export const booleanType: WriteType<boolean> = { json: 'boolean', write: (sink, value) => sink.writeBoolean(value) }
export const stringType: WriteType<string> = { json: 'string', write: (sink, value) => sink.writeString(value) }
export const bytesType: WriteType<Uint8Array> = { json: 'bytes', write: (sink, value) => sink.writeBytes(value) }

function fieldJson({ id, name, doc }: FieldName, type: AvroTypeJson): { readonly [key: string]: unknown } {
  return { name, type, ...(doc !== undefined && { doc }), 'field-id': id }
}
