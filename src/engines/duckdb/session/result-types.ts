import {
  DuckDBDecimalType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'

import type { NestedField, PrimitiveType, Type } from '../../../iceberg/schema/types.ts'

const PRIMITIVES: ReadonlyMap<DuckDBTypeId, PrimitiveType> = new Map<DuckDBTypeId, PrimitiveType>([
  [DuckDBTypeId.BOOLEAN, { kind: 'boolean' }],
  [DuckDBTypeId.TINYINT, { kind: 'int' }],
  [DuckDBTypeId.SMALLINT, { kind: 'int' }],
  [DuckDBTypeId.UTINYINT, { kind: 'int' }],
  [DuckDBTypeId.USMALLINT, { kind: 'int' }],
  [DuckDBTypeId.INTEGER, { kind: 'int' }],
  [DuckDBTypeId.UINTEGER, { kind: 'long' }],
  [DuckDBTypeId.BIGINT, { kind: 'long' }],
  [DuckDBTypeId.FLOAT, { kind: 'float' }],
  [DuckDBTypeId.DOUBLE, { kind: 'double' }],
  [DuckDBTypeId.DATE, { kind: 'date' }],
  [DuckDBTypeId.TIME, { kind: 'time' }],
  [DuckDBTypeId.TIMESTAMP, { kind: 'timestamp' }],
  [DuckDBTypeId.TIMESTAMP_S, { kind: 'timestamp' }],
  [DuckDBTypeId.TIMESTAMP_MS, { kind: 'timestamp' }],
  [DuckDBTypeId.TIMESTAMP_NS, { kind: 'timestamp_ns' }],
  [DuckDBTypeId.TIMESTAMP_TZ, { kind: 'timestamptz' }],
  [DuckDBTypeId.VARCHAR, { kind: 'string' }],
  [DuckDBTypeId.ENUM, { kind: 'string' }],
  [DuckDBTypeId.UUID, { kind: 'uuid' }],
  [DuckDBTypeId.BLOB, { kind: 'binary' }],
])

/** The smallest Iceberg type that can hold all values of a result's type, without field ids; undefined when none can. */
export function icebergType(type: DuckDBType): Type | undefined {
  const primitive = PRIMITIVES.get(type.typeId)
  if (primitive !== undefined) return primitive
  if (type instanceof DuckDBDecimalType) return { kind: 'decimal', precision: type.width, scale: type.scale }
  if (type instanceof DuckDBListType) {
    const element = icebergType(type.valueType)
    return element && { kind: 'list', elementId: 0, elementRequired: false, element }
  }
  if (type instanceof DuckDBMapType) {
    const key = icebergType(type.keyType)
    const value = icebergType(type.valueType)
    return key && value && { kind: 'map', keyId: 0, key, valueId: 0, valueRequired: false, value }
  }
  return type instanceof DuckDBStructType ? structType(type) : undefined
}

function structType(type: DuckDBStructType): Type | undefined {
  const fields: NestedField[] = []
  for (const [at, name] of type.entryNames.entries()) {
    const entry = type.entryTypes[at]
    const inner = entry && icebergType(entry)
    if (inner === undefined) return undefined
    fields.push({ id: 0, name, required: false, type: inner })
  }
  return { kind: 'struct', fields }
}
