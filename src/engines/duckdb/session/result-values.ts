import type { DuckDBValue, JS } from '@duckdb/node-api'

import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { PrimitiveType, Value } from '../../../iceberg/schema/types.ts'

/** The text in a column of a small result; empty for null. */
export function textOf(value: JS | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Converts a value of DuckDB to a value of the table format, without loss (docs/iceberg-notes.md#times-and-decimals). */
export function toValue(type: PrimitiveType, value: DuckDBValue): Value | null {
  if (value === null || value === undefined) return null
  const plain = unwrap(value)
  switch (type.kind) {
    case 'boolean':
      if (typeof plain === 'boolean') return plain
      break
    case 'int':
    case 'date':
    case 'float':
    case 'double':
      if (typeof plain === 'number') return plain
      if (typeof plain === 'bigint') return Number(plain)
      break
    case 'string':
      if (typeof plain === 'string') return plain
      break
    case 'uuid':
      return String(value)
    case 'fixed':
    case 'binary':
      if (plain instanceof Uint8Array) return plain
      break
    default:
      if (typeof plain === 'bigint') return plain
      if (typeof plain === 'number') return BigInt(plain)
  }
  throw new IcebergError('ENGINE_FAILED', `the engine returned ${String(value)} where a ${formatType(type)} should be`)
}

/** The number, text or bytes inside DuckDB's value classes. */
function unwrap(value: NonNullable<DuckDBValue>): unknown {
  if (typeof value !== 'object') return value
  if ('micros' in value) return value.micros
  if ('nanos' in value) return value.nanos
  if ('nanoseconds' in value) return value.nanoseconds
  if ('days' in value && !('months' in value)) return value.days
  if ('bytes' in value) return value.bytes
  if ('scale' in value && 'value' in value) return value.value
  return value
}
