import { IcebergError } from '../../iceberg/errors.ts'
import type { JsonValue } from '../../iceberg/json/lossless-json.ts'
import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { valueFromJson } from '../../iceberg/values/values.ts'
import type { WhereLiteral } from './parser.ts'

/** The value of a literal that is compared with a column; `INVALID_ARGUMENT` when it is not of the column's type. */
export function parseLiteral(literal: WhereLiteral, type: PrimitiveType, column: string): Value {
  try {
    const value = valueFromJson(type, literalToJson(literal, type))
    return equalZero(value)
  } catch (error) {
    const shown = literal.quoted ? `'${literal.text}'` : literal.text
    throw new IcebergError('INVALID_ARGUMENT', `where: ${shown} is not a ${type.kind} value for column "${column}"`, {
      cause: error,
    })
  }
}

/** A value as predicates compare it: -0 equals 0. */
export function equalZero(value: Value): Value {
  return value === 0 ? 0 : value
}

/** The JSON single value (Iceberg spec, Appendix D) of a literal; throws on a mismatch. */
function literalToJson({ quoted, text }: WhereLiteral, type: PrimitiveType): JsonValue {
  switch (type.kind) {
    case 'int':
    case 'long':
      return requireMatch(!quoted && /^[-+]?\d+$/.test(text), () => safeInteger(BigInt(text.replace(/^\+/, ''))))
    case 'float':
    case 'double':
      return requireMatch(!quoted && Number.isFinite(Number(text)), () => Number(text))
    case 'decimal':
      return requireMatch(!quoted, () => padDecimal(text, type.scale))
    case 'boolean':
      return requireMatch(!quoted && (text === 'true' || text === 'false'), () => text === 'true')
    case 'timestamp':
    case 'timestamp_ns':
    case 'timestamptz':
    case 'timestamptz_ns':
      return requireMatch(quoted, () => normalizeTimestamp(text, type.kind))
    case 'string':
    case 'date':
    case 'time':
    case 'uuid':
      return requireMatch(quoted, () => text)
    default:
      throw new RangeError(`type ${type.kind} has no literals`)
  }
}

function requireMatch(matches: boolean, value: () => JsonValue): JsonValue {
  if (!matches) throw new RangeError('wrong kind of literal')
  return value()
}

function safeInteger(value: bigint): JsonValue {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function padDecimal(text: string, scale: number): string {
  const match = /^([-+]?\d+)(?:\.(\d*))?$/.exec(text)
  const fraction = match?.[2] ?? ''
  if (match?.[1] === undefined || fraction.length > scale) throw new RangeError('wrong scale')
  const whole = match[1].replace(/^\+/, '')
  return scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, '0')}`
}

function normalizeTimestamp(text: string, kind: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(?::(\d{2})(\.\d+)?)?)?(Z|[+-]00:00)?$/.exec(text)
  const withZone = kind.startsWith('timestamptz')
  if (match === null || (match[5] !== undefined && !withZone)) throw new RangeError('not a timestamp')
  const digits = kind.endsWith('_ns') ? 9 : 6
  const fraction = (match[4] ?? '.').padEnd(digits + 1, '0')
  if (fraction.length > digits + 1) throw new RangeError('too many digits')
  return `${match[1]}T${match[2] ?? '00:00'}:${match[3] ?? '00'}${fraction}${withZone ? '+00:00' : ''}`
}
