import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { NestedField, PrimitiveType, Type } from '../../../iceberg/schema/types.ts'
import { unwritableReason } from '../../writable-types.ts'

import { decimalBytes, WIDE_DECIMAL_BYTES } from './decimal-bytes.ts'
import { quoteName } from './sql-text.ts'

/** Key of a nested column's own id in DuckDB's FIELD_IDS option. */
const RESERVED_NAME = '__duckdb_field_id'

/** DuckDB's type for an Iceberg type; `UNSUPPORTED` for types that it cannot hold faithfully. */
export function duckType(type: Type): string {
  switch (type.kind) {
    case 'struct':
      return `STRUCT(${structMembers(type.fields)
        .map(([name, field]) => `${quoteName(name)} ${duckType(field.type)}`)
        .join(', ')})`
    case 'list':
      return `${duckType(type.element)}[]`
    case 'map':
      return `MAP(${duckType(type.key)}, ${duckType(type.value)})`
    default:
      return duckPrimitive(type)
  }
}

function duckPrimitive(type: PrimitiveType): string {
  switch (type.kind) {
    case 'boolean':
      return 'BOOLEAN'
    case 'int':
      return 'INTEGER'
    case 'long':
      return 'BIGINT'
    case 'timestamptz':
      return 'TIMESTAMP WITH TIME ZONE'
    case 'string':
      return 'VARCHAR'
    case 'fixed':
    case 'binary':
      return 'BLOB'
    case 'decimal':
      return `DECIMAL(${type.precision},${type.scale})`
    case 'float':
    case 'double':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'timestamp_ns':
    case 'uuid':
      return type.kind.toUpperCase()
    default:
      throw new IcebergError('UNSUPPORTED', `the embedded engine cannot read values of type ${formatType(type)}`)
  }
}

/**
 * The members of a struct, or the columns of a file, with names that DuckDB can distinguish: it compares names without
 * case, so of two names that differ only in case, the later gets its field id as a suffix. Readers use field ids.
 */
export function structMembers(
  fields: readonly NestedField[],
): readonly (readonly [name: string, field: NestedField])[] {
  const taken = new Set([RESERVED_NAME])
  const own = new Set(fields.map((field) => field.name.toLowerCase()))
  return fields.map((field) => {
    let name = field.name === '' ? `_${field.id}` : field.name
    while (taken.has(name.toLowerCase()) || (name !== field.name && own.has(name.toLowerCase())))
      name = `${name}_${field.id}`
    taken.add(name.toLowerCase())
    return [name, field] as const
  })
}

/** Refuses a schema with columns that cannot be written faithfully, before anything is read or written. */
export function requireWritable(
  fields: readonly NestedField[],
  properties: Readonly<Record<string, string>> = {},
): void {
  const reason = unwritableReason(fields, properties)
  if (reason !== undefined) throw new IcebergError('UNSUPPORTED', `${reason}; nothing was changed`)
}

/** How a primitive must look in a Parquet file (Iceberg spec, Appendix A), as `parquet_schema` describes it. */
export interface ParquetForm {
  readonly physical: string
  readonly length?: number
  /** Another length that readers accept, where the runtime cannot write the minimal one. */
  readonly otherLength?: number
  /** The required logical type, as `parquet_schema` shows it; undefined: there must be none. */
  readonly logical?: RegExp
}

/** The Parquet form of a primitive that this engine writes; `UNSUPPORTED` for one that it does not. */
export function parquetForm(type: PrimitiveType): ParquetForm {
  switch (type.kind) {
    case 'boolean':
    case 'float':
    case 'double':
      return { physical: type.kind.toUpperCase() }
    case 'int':
      return { physical: 'INT32' }
    case 'long':
      return { physical: 'INT64' }
    case 'date':
      return { physical: 'INT32', logical: /DATE/i }
    case 'time':
      return { physical: 'INT64', logical: /TimeType.*MICROS=Micro/ }
    case 'timestamp':
      return { physical: 'INT64', logical: /TimestampType\(isAdjustedToUTC=0.*MICROS=Micro/ }
    case 'timestamptz':
      return { physical: 'INT64', logical: /TimestampType\(isAdjustedToUTC=1.*MICROS=Micro/ }
    case 'timestamp_ns':
      return { physical: 'INT64', logical: /TimestampType\(isAdjustedToUTC=0.*NANOS=Nano/ }
    case 'string':
      return { physical: 'BYTE_ARRAY', logical: /UTF8|String/ }
    case 'uuid':
      return { physical: 'FIXED_LEN_BYTE_ARRAY', length: 16, logical: /UUID/ }
    case 'binary':
      return { physical: 'BYTE_ARRAY' }
    case 'fixed':
      return { physical: 'FIXED_LEN_BYTE_ARRAY', length: type.length }
    case 'decimal':
      return decimalForm(type.precision)
    default:
      throw new IcebergError('UNSUPPORTED', `the embedded engine cannot write values of type ${formatType(type)}`)
  }
}

function decimalForm(precision: number): ParquetForm {
  const logical = /DECIMAL/i
  if (precision <= 9) return { physical: 'INT32', logical }
  if (precision <= 18) return { physical: 'INT64', logical }
  const length = decimalBytes(precision)
  return { physical: 'FIXED_LEN_BYTE_ARRAY', length, otherLength: WIDE_DECIMAL_BYTES, logical }
}
