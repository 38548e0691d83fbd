import { IcebergError } from '../errors.ts'
import { formatType } from '../schema/type-names.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'

const encoder = new TextEncoder()
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const microsPerDay = 86_400_000_000n

/** The binary single-value form of a value (Iceberg spec, Appendix D); `INVALID_ARGUMENT` when it is not of the type. */
export function valueToBytes(type: PrimitiveType, value: Value): Uint8Array {
  switch (type.kind) {
    case 'boolean':
      return Uint8Array.of(expectBoolean(type, value) ? 1 : 0)
    case 'int':
    case 'date':
      return fixedWidth(4, (view) => view.setInt32(0, expectInt(type, value), true))
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return fixedWidth(8, (view) => view.setBigInt64(0, expectLong(type, value), true))
    case 'float':
      return fixedWidth(4, (view) => view.setFloat32(0, expectNumber(type, value), true))
    case 'double':
      return fixedWidth(8, (view) => view.setFloat64(0, expectNumber(type, value), true))
    case 'decimal':
      return bigintToBytes(expectBigint(type, value))
    case 'string':
      return encoder.encode(expectString(type, value))
    case 'uuid':
      return uuidToBytes(expectString(type, value))
    case 'unknown':
      throw mismatch(type, value)
    default:
      return expectBytes(type, value)
  }
}

/**
 * Reads the binary single-value form. The bytes may be older than a type promotion: 4 bytes are accepted for a
 * long as int, for a double as float, for a timestamp as date. `CORRUPT_FILE` when the bytes cannot be of the type.
 */
export function valueFromBytes(type: PrimitiveType, bytes: Uint8Array): Value {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (type.kind) {
    case 'boolean':
      return expectLength(type, bytes, 1)[0] !== 0
    case 'int':
    case 'date':
      expectLength(type, bytes, 4)
      return view.getInt32(0, true)
    case 'long':
      if (bytes.length === 4) return BigInt(view.getInt32(0, true))
      return longFromBytes(type, bytes)
    case 'timestamp':
    case 'timestamptz':
      if (bytes.length === 4) return BigInt(view.getInt32(0, true)) * microsPerDay
      return longFromBytes(type, bytes)
    case 'timestamp_ns':
    case 'timestamptz_ns':
      if (bytes.length === 4) return BigInt.asIntN(64, BigInt(view.getInt32(0, true)) * microsPerDay * 1000n)
      return longFromBytes(type, bytes)
    case 'time':
      return longFromBytes(type, bytes)
    case 'float':
      expectLength(type, bytes, 4)
      return view.getFloat32(0, true)
    case 'double':
      if (bytes.length === 4) return view.getFloat32(0, true)
      expectLength(type, bytes, 8)
      return view.getFloat64(0, true)
    case 'decimal':
      if (bytes.length === 0 || bytes.length > 64) throw corrupt(type, bytes)
      return bigintFromBytes(bytes)
    case 'string':
      return decodeText(type, bytes)
    case 'uuid':
      return uuidFromBytes(expectLength(type, bytes, 16))
    case 'fixed':
      // Bounds may be truncated, so a fixed value may be shorter than its type.
      if (bytes.length > type.length) throw corrupt(type, bytes)
      return bytes.slice()
    case 'unknown':
      throw corrupt(type, bytes)
    default:
      return bytes.slice()
  }
}

/** Two's complement, big-endian, in the fewest bytes: the form of decimals in Appendix B and D. */
export function bigintToBytes(value: bigint): Uint8Array {
  let length = 1
  while (BigInt.asIntN(length * 8, value) !== value) length += 1
  const bytes = new Uint8Array(length)
  let rest = value
  for (let at = length - 1; at >= 0; at -= 1) {
    bytes[at] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return bytes
}

/** The integer of a big-endian two's complement of any length above 0. */
export function bigintFromBytes(bytes: Uint8Array): bigint {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  return BigInt.asIntN(bytes.length * 8, value)
}

/** The 16 bytes of a uuid, most significant first; `INVALID_ARGUMENT` when the text is not a uuid. */
export function uuidToBytes(text: string): Uint8Array {
  if (!/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(text)) {
    throw new IcebergError('INVALID_ARGUMENT', `"${text.slice(0, 50)}" is not a uuid`)
  }
  return hexToBytes(text.replaceAll('-', ''))
}

/** Lower-case uuid text of 16 bytes. */
export function uuidFromBytes(bytes: Uint8Array): string {
  const hex = bytesToHex(bytes)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Lower-case hexadecimal digits of bytes. */
export function bytesToHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Bytes of hexadecimal digits in either case; the caller has checked the digits. */
export function hexToBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16)
  return bytes
}

function fixedWidth(length: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(length)
  write(new DataView(bytes.buffer))
  return bytes
}

function longFromBytes(type: PrimitiveType, bytes: Uint8Array): bigint {
  expectLength(type, bytes, 8)
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true)
}

function decodeText(type: PrimitiveType, bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes)
  } catch (cause) {
    throw new IcebergError('CORRUPT_FILE', `a ${formatType(type)} value is not UTF-8`, { cause })
  }
}

function expectBoolean(type: PrimitiveType, value: Value): boolean {
  if (typeof value !== 'boolean') throw mismatch(type, value)
  return value
}

function expectInt(type: PrimitiveType, value: Value): number {
  if (typeof value !== 'number' || (value | 0) !== value) throw mismatch(type, value)
  return value
}

function expectLong(type: PrimitiveType, value: Value): bigint {
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw mismatch(type, value)
  return value
}

function expectBigint(type: PrimitiveType, value: Value): bigint {
  if (typeof value !== 'bigint') throw mismatch(type, value)
  return value
}

function expectNumber(type: PrimitiveType, value: Value): number {
  if (typeof value !== 'number') throw mismatch(type, value)
  return value
}

function expectString(type: PrimitiveType, value: Value): string {
  if (typeof value !== 'string') throw mismatch(type, value)
  return value
}

function expectBytes(type: PrimitiveType, value: Value): Uint8Array {
  if (!(value instanceof Uint8Array)) throw mismatch(type, value)
  return value
}

function expectLength(type: PrimitiveType, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw corrupt(type, bytes)
  return bytes
}

function corrupt(type: PrimitiveType, bytes: Uint8Array): IcebergError {
  return new IcebergError('CORRUPT_FILE', `${bytes.length} bytes cannot be a value of type ${formatType(type)}`)
}

/** The error for a value that is not of its type. */
export function mismatch(type: PrimitiveType, value: unknown): IcebergError {
  const found = value instanceof Uint8Array ? `${value.length} bytes` : `${typeof value} ${String(value).slice(0, 50)}`
  return new IcebergError('INVALID_ARGUMENT', `${found} is not a value of type ${formatType(type)}`)
}
