import { IcebergError } from '../errors.ts'
import { jsonInteger, toLong } from '../json/json-fields.ts'
import { JsonFloat } from '../json/json-float.ts'
import type { JsonValue } from '../json/lossless-json.ts'
import { formatDate, formatTime, formatTimestamp, parseDate, parseTime, parseTimestamp } from './temporal.ts'
import { formatType } from '../schema/type-names.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'
import { bytesToHex, hexToBytes, mismatch } from './binary.ts'

/**
 * Reads the JSON single-value form of a primitive (Iceberg spec, Appendix D), as defaults use it.
 * `INVALID_METADATA` when the JSON is not a value of the type.
 */
export function valueFromJson(type: PrimitiveType, json: JsonValue): Value {
  const value = readJson(type, json)
  if (value === undefined) {
    const found = typeof json === 'string' ? `"${json.slice(0, 50)}"` : json === null ? 'null' : typeof json
    throw new IcebergError('INVALID_METADATA', `${found} is not a ${formatType(type)} in JSON form`)
  }
  return value
}

function readJson(type: PrimitiveType, json: JsonValue): Value | undefined {
  switch (type.kind) {
    case 'boolean':
      return typeof json === 'boolean' ? json : undefined
    case 'int':
      return typeof json === 'number' && (json | 0) === json ? json : undefined
    case 'long':
      return toLong(json)
    case 'float':
      return readFloat(json, Math.fround)
    case 'double':
      return readFloat(json, (value) => value)
    default:
      return typeof json === 'string' ? readText(type, json) : undefined
  }
}

function readFloat(json: JsonValue, round: (value: number) => number): number | undefined {
  const number = json instanceof JsonFloat ? json.value : json
  if (typeof number !== 'number' && typeof number !== 'bigint') return undefined
  const value = round(Number(number))
  // beyond the range of the type: to read it as infinity would change it
  return Number.isFinite(value) ? value : undefined
}

function readText(type: PrimitiveType, text: string): Value | undefined {
  switch (type.kind) {
    case 'date':
      return parseDate(text)
    case 'time':
      return parseTime(text, 6)
    case 'timestamp':
    case 'timestamptz':
      return longOnly(parseTimestamp(text, 6, type.kind === 'timestamptz'))
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return longOnly(parseTimestamp(text, 9, type.kind === 'timestamptz_ns'))
    case 'string':
      return text
    case 'uuid':
      return /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text) ? text.toLowerCase() : undefined
    case 'decimal': {
      const unscaled = parseDecimal(text, type.scale)
      return unscaled !== undefined && fitsPrecision(unscaled, type.precision) ? unscaled : undefined
    }
    case 'fixed':
      return isHex(text) && text.length === type.length * 2 ? hexToBytes(text) : undefined
    case 'binary':
      return isHex(text) ? hexToBytes(text) : undefined
    default:
      return undefined
  }
}

/** Writes the JSON single-value form of a primitive (Iceberg spec, Appendix D). */
export function valueToJson(type: PrimitiveType, value: Value): JsonValue {
  switch (type.kind) {
    case 'boolean':
      if (typeof value === 'boolean') return value
      break
    case 'int':
      if (typeof value === 'number' && Number.isInteger(value)) return value
      break
    case 'float':
    case 'double':
      if (typeof value !== 'number' || !Number.isFinite(value)) break
      return Number.isInteger(value) ? new JsonFloat(value) : value
    case 'long':
      if (typeof value === 'bigint') return jsonInteger(value)
      break
    default:
      return valueToText(type, value)
  }
  throw mismatch(type, value)
}

/** The text of dates, times, decimals, strings, uuids and bytes (hexadecimal), as Appendix D writes them. */
export function valueToText(type: PrimitiveType, value: Value): string {
  if (typeof value === 'number' && type.kind === 'date') return formatDate(value)
  if (typeof value === 'bigint') return bigintToText(type, value)
  if (typeof value === 'string' && (type.kind === 'string' || type.kind === 'uuid')) return value
  if (value instanceof Uint8Array) return bytesToHex(value)
  throw mismatch(type, value)
}

function bigintToText(type: PrimitiveType, value: bigint): string {
  switch (type.kind) {
    case 'time':
      return formatTime(value, 6)
    case 'timestamp':
      return formatTimestamp(value, 6)
    case 'timestamptz':
      return `${formatTimestamp(value, 6)}+00:00`
    case 'timestamp_ns':
      return formatTimestamp(value, 9)
    case 'timestamptz_ns':
      return `${formatTimestamp(value, 9)}+00:00`
    case 'decimal':
      return formatDecimal(value, type.scale)
    default:
      throw mismatch(type, value)
  }
}

/** `-12.30` from the unscaled -1230 at scale 2. */
export function formatDecimal(unscaled: bigint, scale: number): string {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  const sign = unscaled < 0n ? '-' : ''
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The unscaled value at `scale` of a decimal text, or undefined when it is not a decimal or has more digits. */
export function parseDecimal(text: string, scale: number): bigint | undefined {
  const match = /^([+-]?)(\d{1,60})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text)
  if (!match) return undefined
  const fraction = match[3] ?? ''
  const shift = scale - fraction.length + Number(match[4] ?? '0')
  const digits = BigInt((match[2] ?? '') + fraction)
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : exactQuotient(digits, 10n ** BigInt(-shift))
  return magnitude === undefined || match[1] !== '-' ? magnitude : -magnitude
}

function exactQuotient(value: bigint, divisor: bigint): bigint | undefined {
  return value % divisor === 0n ? value / divisor : undefined
}

function fitsPrecision(unscaled: bigint, precision: number): boolean {
  const limit = 10n ** BigInt(precision)
  return unscaled < limit && unscaled > -limit
}

function longOnly(value: bigint | undefined): bigint | undefined {
  return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined
}

function isHex(text: string): boolean {
  return text.length % 2 === 0 && /^[0-9a-fA-F]*$/.test(text)
}
