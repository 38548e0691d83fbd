import { formatType } from '../../../iceberg/schema/type-names.ts'
import { type DecimalType, isNested, type Type } from '../../../iceberg/schema/types.ts'

/** The type of a value: that of a column that could hold it, or none for NULL alone. */
export type ValueType = Type | { readonly kind: 'null' }

/** A type in messages; equal for equal types. */
export function typeText(type: ValueType): string {
  return type.kind === 'null' ? 'NULL' : formatType(type)
}

/** Types whose values are compared alike: strings by their UTF-8 bytes, NaN above all numbers and equal to itself. */
const COMPARABLE: ReadonlySet<string> = new Set([
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'decimal',
  'string',
  'date',
  'timestamp',
  'timestamptz',
])

/** Whether both engines compare values of a type alike. */
export function isComparable({ kind }: ValueType): boolean {
  return COMPARABLE.has(kind)
}

const MAX_PRECISION = 38

/**
 * The type that DuckDB gives values of two types in one place, as far as Spark can do the same; undefined: it differs, or
 * only an implicit cast between text and other values would make them alike.
 */
export function commonType(a: ValueType, b: ValueType): ValueType | undefined {
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (isNested(a) || isNested(b)) return undefined
  if (typeText(a) === typeText(b)) return a
  const kinds = [a.kind, b.kind]
  const isMixed = (...allowed: readonly string[]): boolean => kinds.every((kind) => allowed.includes(kind))
  if (isMixed('int', 'long')) return { kind: 'long' }
  if (kinds.includes('double') && isMixed('double', 'float', 'int', 'long', 'decimal')) return { kind: 'double' }
  const [one, other] = [asDecimal(a), asDecimal(b)]
  return one && other && commonDecimal(one, other)
}

/** A type with enough digits for all values of an integer or decimal type. */
export function asDecimal(type: ValueType): DecimalType | undefined {
  if (type.kind === 'decimal') return type
  if (type.kind === 'int') return { kind: 'decimal', precision: 10, scale: 0 }
  return type.kind === 'long' ? { kind: 'decimal', precision: 19, scale: 0 } : undefined
}

function commonDecimal(a: DecimalType, b: DecimalType): DecimalType | undefined {
  const scale = Math.max(a.scale, b.scale)
  const precision = scale + Math.max(a.precision - a.scale, b.precision - b.scale)
  return precision > MAX_PRECISION ? undefined : { kind: 'decimal', precision, scale }
}
