import { IcebergError } from '../errors.ts'
import { invalid } from '../json/json-fields.ts'
import { murmur3, murmur3Long } from './murmur3.ts'
import { civilFromDays, floorDiv } from '../values/temporal.ts'
import { formatType } from '../schema/type-names.ts'
import { isNested } from '../schema/types.ts'
import type { PrimitiveType, Type, Value } from '../schema/types.ts'
import { bigintToBytes, mismatch, uuidToBytes } from '../values/binary.ts'
import { firstCodePoints } from '../values/truncate.ts'

/** A transform from a source column to a partition or sort value (Iceberg spec, "Partition Transforms"). */
export type Transform =
  | { readonly kind: 'identity' | 'year' | 'month' | 'day' | 'hour' | 'void' }
  | { readonly kind: 'bucket'; readonly buckets: number }
  | { readonly kind: 'truncate'; readonly width: number }
  | { readonly kind: 'unknown'; readonly text: string }

const microsPerHour = 3_600_000_000n
const encoder = new TextEncoder()

/**
 * Reads a transform from its name (Iceberg spec, Appendix C), in any case. A name that is not known is kept as
 * `unknown`, which can be kept but not applied; `INVALID_METADATA` for invalid parameters.
 */
export function parseTransform(text: string): Transform {
  const name = text.toLowerCase()
  switch (name) {
    case 'identity':
    case 'year':
    case 'month':
    case 'day':
    case 'hour':
    case 'void':
      return { kind: name }
  }
  const match = /^(bucket|truncate)\[(\d{1,12})\]$/.exec(name)
  if (!match) return { kind: 'unknown', text }
  const parameter = Number(match[2])
  if (parameter < 1 || parameter >= 2 ** 31)
    throw invalid(`transform "${text}"`, 'the parameter must be 1 to 2147483647')
  return match[1] === 'bucket' ? { kind: 'bucket', buckets: parameter } : { kind: 'truncate', width: parameter }
}

/** The name of a transform as metadata writes it. */
export function formatTransform(transform: Transform): string {
  switch (transform.kind) {
    case 'bucket':
      return `bucket[${transform.buckets}]`
    case 'truncate':
      return `truncate[${transform.width}]`
    case 'unknown':
      return transform.text
    default:
      return transform.kind
  }
}

/**
 * The result type of a transform (Iceberg spec, "Partition Transforms"); day is `date`, as in all writers.
 * `INVALID_ARGUMENT` when the transform does not support the type; results of an unknown transform are strings.
 */
export function transformResultType(transform: Transform, sourceType: Type): PrimitiveType {
  if (transform.kind === 'void') return isNested(sourceType) ? { kind: 'unknown' } : sourceType
  if (transform.kind === 'unknown') return { kind: 'string' }
  if (isNested(sourceType) || !acceptsType(transform, sourceType)) {
    throw new IcebergError(
      'INVALID_ARGUMENT',
      `transform ${formatTransform(transform)} cannot be applied to type ${formatType(sourceType)}`,
    )
  }
  switch (transform.kind) {
    case 'identity':
    case 'truncate':
      return sourceType
    case 'day':
      return { kind: 'date' }
    default:
      return { kind: 'int' }
  }
}

function acceptsType(transform: Transform, type: PrimitiveType): boolean {
  switch (transform.kind) {
    case 'identity':
      return type.kind !== 'variant' && type.kind !== 'geometry' && type.kind !== 'geography'
    case 'bucket':
      return bucketTypes.has(type.kind)
    case 'truncate':
      return truncateTypes.has(type.kind)
    case 'year':
    case 'month':
    case 'day':
      return type.kind === 'date' || isTimestamp(type)
    case 'hour':
      return isTimestamp(type)
    default:
      return false
  }
}

const truncateTypes: ReadonlySet<string> = new Set(['int', 'long', 'decimal', 'string', 'binary'])
const bucketTypes: ReadonlySet<string> = new Set([
  'int',
  'long',
  'decimal',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'timestamptz_ns',
  'string',
  'uuid',
  'fixed',
  'binary',
])

function isTimestamp(type: PrimitiveType): boolean {
  return type.kind.startsWith('timestamp')
}

/**
 * The result of a transform for one source value; null for null. `INVALID_ARGUMENT` when the transform does not support
 * the type, `UNSUPPORTED` for an unknown transform.
 */
export function applyTransform(transform: Transform, sourceType: Type, value: Value | null): Value | null {
  if (transform.kind === 'void') return null
  if (transform.kind === 'unknown') {
    throw new IcebergError('UNSUPPORTED', `the transform "${transform.text}" is unknown and cannot be applied`)
  }
  transformResultType(transform, sourceType)
  if (value === null || isNested(sourceType)) return null
  switch (transform.kind) {
    case 'identity':
      return value
    case 'bucket':
      return (bucketHash(sourceType, value) & 0x7fffffff) % transform.buckets
    case 'truncate':
      return truncate(sourceType, value, transform.width)
    default:
      return timeUnits(transform.kind, sourceType, value)
  }
}

/** The 32-bit hash that the bucket transform uses for a value (Iceberg spec, Appendix B). */
export function bucketHash(type: PrimitiveType, value: Value): number {
  if (typeof value === 'number' && (type.kind === 'int' || type.kind === 'date')) return murmur3Long(BigInt(value))
  if (typeof value === 'string') return murmur3(type.kind === 'uuid' ? uuidToBytes(value) : encoder.encode(value))
  if (value instanceof Uint8Array) return murmur3(value)
  if (typeof value !== 'bigint') throw mismatch(type, value)
  switch (type.kind) {
    case 'decimal':
      return murmur3(bigintToBytes(value))
    case 'timestamp_ns':
    case 'timestamptz_ns':
      // Hashed as microseconds, so that a column keeps its buckets whatever its precision.
      return murmur3Long(floorDiv(value, 1000n))
    default:
      return murmur3Long(value)
  }
}

function truncate(type: PrimitiveType, value: Value, width: number): Value {
  if (typeof value === 'string') return firstCodePoints(value, width)
  if (value instanceof Uint8Array) return value.slice(0, width)
  if (typeof value === 'bigint') {
    const result = floorDiv(value, BigInt(width)) * BigInt(width)
    return type.kind === 'decimal' ? result : BigInt.asIntN(64, result)
  }
  if (typeof value !== 'number') throw mismatch(type, value)
  return (Math.floor(value / width) * width) | 0
}

function timeUnits(unit: 'year' | 'month' | 'day' | 'hour', type: PrimitiveType, value: Value): number {
  if (type.kind === 'date') {
    if (typeof value !== 'number') throw mismatch(type, value)
    return dayUnits(unit, value)
  }
  if (typeof value !== 'bigint') throw mismatch(type, value)
  const perHour = type.kind.endsWith('_ns') ? microsPerHour * 1000n : microsPerHour
  if (unit === 'hour') return hourOf(type, floorDiv(value, perHour))
  return dayUnits(unit, Number(floorDiv(value, perHour * 24n)))
}

function hourOf(type: PrimitiveType, hours: bigint): number {
  if (BigInt.asIntN(32, hours) === hours) return Number(hours)
  throw new IcebergError('INVALID_ARGUMENT', `a ${type.kind} is ${hours} hours from 1970, which does not fit 32 bits`)
}

function dayUnits(unit: 'year' | 'month' | 'day' | 'hour', days: number): number {
  if (unit === 'day') return days
  const { year, month } = civilFromDays(days)
  return unit === 'year' ? year - 1970 : (year - 1970) * 12 + month - 1
}
