import type { AvroSchema } from './avro-schema.ts'
import { minimumSize } from './avro-schema.ts'
import type { ByteCursor } from './byte-cursor.ts'
import { wrongType } from './record-reader.ts'
import type { Reader } from './record-reader.ts'

/** An int or long as a number; `CORRUPT_FILE` beyond 2^53. */
export function numberReader(schema: AvroSchema): Reader<number> {
  if (schema.kind !== 'int' && schema.kind !== 'long') throw wrongType(schema, 'int or long')
  return (cursor) => cursor.readNumber()
}

/** An int or long that cannot be negative: a count, a size, an offset, a sequence number. */
export function countReader(schema: AvroSchema): Reader<number> {
  if (schema.kind !== 'int' && schema.kind !== 'long') throw wrongType(schema, 'int or long')
  return (cursor) => {
    const value = cursor.readNumber()
    if (value < 0) throw cursor.corrupt('a count or size is negative')
    return value
  }
}

/** An int or long as bigint, for 64-bit ids. */
export function bigIntReader(schema: AvroSchema): Reader<bigint> {
  if (schema.kind !== 'int' && schema.kind !== 'long') throw wrongType(schema, 'int or long')
  return (cursor) => cursor.readBigInt()
}

export function booleanReader(schema: AvroSchema): Reader<boolean> {
  if (schema.kind !== 'boolean') throw wrongType(schema, 'boolean')
  return (cursor) => cursor.readBoolean()
}

export function stringReader(schema: AvroSchema): Reader<string> {
  if (schema.kind !== 'string') throw wrongType(schema, 'string')
  return (cursor) => cursor.readString()
}

export function bytesReader(schema: AvroSchema): Reader<Uint8Array> {
  if (schema.kind === 'fixed') return (cursor) => cursor.readFixed(schema.size)
  if (schema.kind !== 'bytes') throw wrongType(schema, 'bytes')
  return (cursor) => cursor.readBytes()
}

/** An array as a JavaScript array. */
export function arrayReader<V>(itemReader: (items: AvroSchema) => Reader<V>): (schema: AvroSchema) => Reader<V[]> {
  return (schema) => {
    if (schema.kind !== 'array') throw wrongType(schema, 'array')
    const read = itemReader(schema.items)
    const minimum = minimumSize(schema.items)
    return (cursor) => {
      const items: V[] = []
      forEachItem(cursor, minimum, () => items.push(read(cursor)))
      return items
    }
  }
}

/**
 * A map from field ids, in Iceberg's form: an array of records with the fields `key` and `value`.
 */
export function idMapReader<V>(valueReader: (value: AvroSchema) => Reader<V>) {
  return (schema: AvroSchema): Reader<ReadonlyMap<number, V>> => {
    const item = schema.kind === 'array' ? schema.items : schema
    if (schema.kind !== 'array' || item.kind !== 'record') throw wrongType(item, 'an array of key-value records')
    const [key, value] = item.fields
    if (item.fields.length !== 2 || key?.name !== 'key' || value?.name !== 'value') {
      throw wrongType(item, 'a record of key and value')
    }
    const readKey = numberReader(key.schema)
    const readValue = valueReader(value.schema)
    return (cursor) => {
      const map = new Map<number, V>()
      for (let count = cursor.readBlockCount(2); count > 0; count = cursor.readBlockCount(2)) {
        for (let left = count; left > 0; left--) map.set(readKey(cursor), readValue(cursor))
        cursor.assertWithin()
      }
      return map
    }
  }
}

/** Calls `read` once for each item of an array or map, whose blocks may or may not state their sizes. */
export function forEachItem(cursor: ByteCursor, minimumItemSize: number, read: () => void): void {
  for (;;) {
    const count = cursor.readBlockCount(minimumItemSize)
    if (count === 0) return
    for (let left = count; left > 0; left--) read()
    cursor.assertWithin()
  }
}
