import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { NestedField, PrimitiveType, Type } from '../../../iceberg/schema/types.ts'
import { unwritableReason } from '../../writable-types.ts'

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
