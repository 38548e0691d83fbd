import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import { isJsonObject } from '../../../iceberg/json/json-fields.ts'
import type { JsonValue } from '../../../iceberg/json/lossless-json.ts'
import type { NestedField, PrimitiveType, Type, Value } from '../../../iceberg/schema/types.ts'
import { bytesToHex } from '../../../iceberg/values/binary.ts'
import { formatDecimal, valueFromJson } from '../../../iceberg/values/json.ts'

import { quoteName, quoteText } from './sql-text.ts'
import { INFINITIES } from './temporal-infinity.ts'
import { duckType, structMembers } from './type-mapping.ts'

/** A value as a typed SQL expression; null gives a typed NULL. */
export function valueLiteral(type: PrimitiveType, value: Value | null): string {
  if (value === null) return nullLiteral(type)
  if (value instanceof Uint8Array) return `from_hex('${bytesToHex(value)}')`
  switch (typeof value) {
    case 'boolean':
      return String(value)
    case 'string':
      return type.kind === 'uuid' ? `${quoteText(value)}::UUID` : quoteText(value)
    case 'number':
      return numberLiteral(type, value)
    default:
      return bigintLiteral(type, value)
  }
}

/** NULL of a type; the type `unknown`, which has only NULL, becomes INTEGER. */
export function nullLiteral(type: Type): string {
  return type.kind === 'unknown' ? 'NULL::INTEGER' : `NULL::${duckType(type)}`
}

/** The value of a column that a file lacks: its `initial-default`, else NULL (Iceberg spec, "Default values"). */
export function initialDefault(field: NestedField): string {
  return field.initialDefault === undefined || field.initialDefault === null
    ? nullLiteral(field.type)
    : defaultLiteral(field.type, field.initialDefault as JsonValue)
}

function defaultLiteral(type: Type, json: JsonValue): string {
  if (json === null) return nullLiteral(type)
  switch (type.kind) {
    case 'struct': {
      if (!isJsonObject(json)) throw badDefault(type)
      const members = structMembers(type.fields).map(([name, field]) => {
        const own = json[String(field.id)]
        return `${quoteName(name)} := ${own === undefined ? initialDefault(field) : defaultLiteral(field.type, own)}`
      })
      return `struct_pack(${members.join(', ')})`
    }
    case 'list':
      if (!Array.isArray(json)) throw badDefault(type)
      return `[${json.map((element) => defaultLiteral(type.element, element)).join(', ')}]::${duckType(type)}`
    case 'map': {
      const { keys, values } = isJsonObject(json) ? json : {}
      if (!Array.isArray(keys) || !Array.isArray(values) || keys.length !== values.length) throw badDefault(type)
      const keyList = keys.map((key) => defaultLiteral(type.key, key)).join(', ')
      const valueList = values.map((value) => defaultLiteral(type.value, value)).join(', ')
      return `map([${keyList}], [${valueList}])::${duckType(type)}`
    }
    default:
      return valueLiteral(type, valueFromJson(type, json))
  }
}

function numberLiteral(type: PrimitiveType, value: number): string {
  if (type.kind === 'date') {
    return endLiteral(type, BigInt(requireInteger(value))) ?? `('1970-01-01'::DATE + ${value})`
  }
  // quoted, as the sign before a number is an operator on it: the least integer would be out of range
  if (type.kind === 'int' || type.kind === 'long') return `'${requireInteger(value)}'::${duckType(type)}`
  return `${quoteText(Object.is(value, -0) ? '-0.0' : String(value))}::${duckType(type)}`
}

function bigintLiteral(type: PrimitiveType, value: bigint): string {
  switch (type.kind) {
    case 'decimal':
      return `'${formatDecimal(value, type.scale)}'::${duckType(type)}`
    case 'time':
      return `(TIME '00:00:00' + to_microseconds(${value}))`
    case 'timestamp':
      return endLiteral(type, value) ?? `make_timestamp(${value})`
    case 'timestamptz':
      return endLiteral(type, value) ?? `make_timestamptz(${value})`
    case 'timestamp_ns':
      return endLiteral(type, value) ?? `make_timestamp_ns(${value})`
    default:
      return `'${value}'::${duckType(type)}`
  }
}

/** The engine's name for a number of days, microseconds or nanoseconds that it treats as an infinity. */
function endLiteral(type: PrimitiveType, value: bigint): string | undefined {
  const end = INFINITIES.find((candidate) => candidate.units(type) === value)
  return end && `'${end.name}'::${duckType(type)}`
}

function requireInteger(value: number): number {
  if (Number.isInteger(value)) return value
  throw new IcebergError('INVALID_METADATA', `${value} is not an integer`)
}

function badDefault(type: Type): IcebergError {
  return new IcebergError('INVALID_METADATA', `a default value is not a ${formatType(type)} in JSON form`)
}
