import type { Value } from '../schema/types.ts'
import { minimumSize } from './avro-schema.ts'
import type { AvroArray, AvroMap, AvroRecord, AvroSchema, AvroUnion } from './avro-schema.ts'
import { openAvroContainer } from './container-reader.ts'
import { wrongType } from './record-reader.ts'
import type { Reader } from './record-reader.ts'
import { forEachItem } from './readers.ts'
import { scalarReader } from './scalar-reader.ts'

/** A record: values by Iceberg field id, or by name where a field has no id. */
export type AvroRecordValue = ReadonlyMap<number | string, AvroValue>

/** Any value of an Avro file. */
export type AvroValue =
  | Value
  | null
  | readonly AvroValue[]
  | AvroRecordValue
  | ReadonlyMap<string, AvroValue>
  | AvroEntries

/** An Iceberg map, which Avro stores as an array of key-value records. Not a `Map`, because `Map` treats -0.0 as 0.0. */
export type AvroEntries = readonly (readonly [key: AvroValue, value: AvroValue])[]

/** The contents of an Avro file. */
export interface AvroRecords {
  readonly schema: AvroRecord
  readonly records: readonly AvroRecordValue[]
}

/**
 * Reads all records of any Avro object container file, such as an Avro data file of a table (Iceberg spec, Appendix A).
 * Single values are as in `types.ts`. `label` names the file in messages; errors are those of `openAvroContainer`.
 */
export function readAvroRecords(bytes: Uint8Array, label = 'Avro file'): AvroRecords {
  const container = openAvroContainer(bytes, label)
  if (container.schema.kind !== 'record') throw wrongType(container.schema, 'record')
  const read = recordReader(container.schema)
  const records: AvroRecordValue[] = []
  container.forEachRecord((cursor) => records.push(read(cursor)))
  return { schema: container.schema, records }
}

function valueReader(schema: AvroSchema): Reader<AvroValue> {
  switch (schema.kind) {
    case 'null':
      return () => null
    case 'record':
      return recordReader(schema)
    case 'array':
      return schema.isMap ? pairsReader(schema) : arrayReader(schema)
    case 'map':
      return mapReader(schema)
    case 'union':
      return unionReader(schema)
    default:
      return scalarReader(schema)
  }
}

function recordReader(schema: AvroRecord): Reader<AvroRecordValue> {
  const fields = schema.fields.map((field) => ({ key: field.fieldId ?? field.name, read: valueReader(field.schema) }))
  return (cursor) => {
    const record = new Map<number | string, AvroValue>()
    for (const { key, read } of fields) record.set(key, read(cursor))
    return record
  }
}

function arrayReader(schema: AvroArray): Reader<AvroValue> {
  const read = valueReader(schema.items)
  const minimum = minimumSize(schema.items)
  return (cursor) => {
    const items: AvroValue[] = []
    forEachItem(cursor, minimum, () => items.push(read(cursor)))
    return items
  }
}

function pairsReader(schema: AvroArray): Reader<AvroValue> {
  const { items } = schema
  const [key, value] = items.kind === 'record' ? items.fields : []
  if (items.kind !== 'record' || items.fields.length !== 2 || key === undefined || value === undefined) {
    throw wrongType(items, 'a record of key and value')
  }
  const [readKey, readValue, minimum] = [valueReader(key.schema), valueReader(value.schema), minimumSize(items)]
  return (cursor) => {
    const entries: (readonly [AvroValue, AvroValue])[] = []
    forEachItem(cursor, minimum, () => entries.push([readKey(cursor), readValue(cursor)]))
    return entries
  }
}

function mapReader(schema: AvroMap): Reader<AvroValue> {
  const read = valueReader(schema.values)
  const minimum = 1 + minimumSize(schema.values)
  return (cursor) => {
    const map = new Map<string, AvroValue>()
    forEachItem(cursor, minimum, () => map.set(cursor.readString(), read(cursor)))
    return map
  }
}

function unionReader(schema: AvroUnion): Reader<AvroValue> {
  const branches = schema.branches.map(valueReader)
  return (cursor) => {
    const branch = branches[cursor.readNumber()]
    if (branch === undefined) throw cursor.corrupt('a union has an unknown branch')
    return branch(cursor)
  }
}
