import type * as DuckDb from '@duckdb/node-api'
import type { DuckDBValue } from '@duckdb/node-api'

import { IcebergError } from '../../../iceberg/errors.ts'
import { formatType } from '../../../iceberg/schema/type-names.ts'
import type { PrimitiveType, Value } from '../../../iceberg/schema/types.ts'

/** The engine's value constructors; passed in, because the module is loaded lazily. */
export type EngineValueFactory = typeof DuckDb

/** Converts a value of the table format for appending rows. */
export function engineValue(factory: EngineValueFactory, type: PrimitiveType, value: Value): DuckDBValue {
  if (value instanceof Uint8Array) return factory.blobValue(value)
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') {
    return type.kind === 'uuid' ? factory.uuidValue(BigInt(`0x${value.replaceAll('-', '')}`)) : value
  }
  switch (type.kind) {
    case 'int':
    case 'float':
    case 'double':
      return Number(value)
    case 'date':
      return factory.dateValue(Number(value))
    case 'long':
      return BigInt(value)
    case 'time':
      return factory.timeValue(BigInt(value))
    case 'timestamp':
      return factory.timestampValue(BigInt(value))
    case 'timestamptz':
      return factory.timestampTZValue(BigInt(value))
    case 'timestamp_ns':
      return factory.timestampNanosValue(BigInt(value))
    case 'decimal':
      return factory.decimalValue(BigInt(value), type.precision, type.scale)
    default:
      throw new IcebergError('CORRUPT_FILE', `${String(value)} is not a value of type ${formatType(type)}`)
  }
}
