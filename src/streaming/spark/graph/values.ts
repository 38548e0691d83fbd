import { textLiteral } from '../../../engines/spark/connect/plan/text-literal.ts'
import type { SqlConstant } from '../../../engines/sql-syntax.ts'
import type { Type } from '../../../iceberg/schema/types.ts'
import { sparkTypeName } from '../column-types.ts'
import { Refusal } from './refusal.ts'
import { typeText, type ValueType } from './value-types.ts'

/** An expression in Spark's SQL, with the type that it has in both engines. */
export interface SparkValue {
  /** Complete in itself: no neighbouring text changes it. */
  readonly sql: string
  readonly type: ValueType
  readonly isNullable: boolean
  /** What it is, if it is a constant. */
  readonly constant?: SqlConstant
}

/** A constant; a double that is not finite never comes here. */
export function constantValue(constant: SqlConstant): SparkValue {
  const value = (sql: string, type: ValueType): SparkValue => ({ sql, type, isNullable: false, constant })
  switch (constant.type) {
    case 'null':
      return { ...value('NULL', { kind: 'null' }), isNullable: true }
    case 'boolean':
      return value(constant.value ? 'TRUE' : 'FALSE', { kind: 'boolean' })
    case 'text':
      return value(textLiteral(constant.value), { kind: 'string' })
    case 'integer':
      return numberValue(constant, { kind: constant.bits === 32 ? 'int' : 'long' })
    case 'decimal':
      return numberValue(constant, { kind: 'decimal', precision: constant.precision, scale: constant.scale })
    case 'double':
      return numberValue(constant, { kind: 'double' })
    default:
      return constant satisfies never
  }
}

/**
 * Whether a constant is -2147483648, for which the syntax says BIGINT: beside an integer, DuckDB takes it for an integer, and
 * an overflow shows the difference.
 */
export function isSmallestInteger({ constant }: SparkValue): boolean {
  return constant?.type === 'integer' && constant.bits === 64 && constant.value === -(2n ** 31n)
}

type NumberConstant = Extract<SqlConstant, { readonly type: 'integer' | 'decimal' | 'double' }>

/** A number from its digits, which Spark reads exactly as a value of the type. */
function numberValue(constant: NumberConstant, type: Type): SparkValue {
  return { sql: `CAST('${digitsOf(constant)}' AS ${sparkTypeName(type)})`, type, isNullable: false, constant }
}

function digitsOf(constant: NumberConstant): string {
  if (constant.type === 'integer') return constant.value.toString()
  if (constant.type === 'double') return Object.is(constant.value, -0) ? '-0.0' : String(constant.value)
  const { unscaled, scale } = constant
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const sign = unscaled < 0n ? '-' : ''
  return scale === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-scale)}`
}

/** Integers up to this are exact as doubles. */
const MAX_EXACT = 2n ** 53n
/** Powers of ten up to this are exact as doubles, so that a quotient by them is rounded once, in both engines. */
const MAX_SCALE = 22

/** The value as one of another type, with the same rows in both engines; throws a `Refusal`. */
export function convert(value: SparkValue, type: ValueType): string {
  if (type.kind === 'null' || typeText(value.type) === typeText(type)) return value.sql
  const name = sparkTypeName(type)
  if (name !== undefined && (value.type.kind === 'null' || isExact(value.type, type))) {
    return `CAST(${value.sql} AS ${name})`
  }
  const { constant } = value
  if (constant !== undefined && isExactConstant(constant, type)) return numberValue(constant, type).sql
  throw new Refusal(`${typeText(value.type)} cannot become ${typeText(type)} without rounding in Spark: CAST it`)
}

/** Whether each value of one type is a value of the other. */
export function isExact(from: ValueType, to: ValueType): boolean {
  if (to.kind === 'long') return from.kind === 'int'
  if (to.kind === 'double') return from.kind === 'int' || from.kind === 'float'
  if (to.kind !== 'decimal') return false
  if (from.kind === 'decimal') {
    return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale
  }
  const digits = from.kind === 'int' ? 10 : from.kind === 'long' ? 19 : undefined
  return digits !== undefined && to.precision - to.scale >= digits
}

function isExactConstant(constant: SqlConstant, to: Type): constant is NumberConstant {
  if (to.kind !== 'double') return false
  if (constant.type === 'integer') return isBelow(constant.value, MAX_EXACT)
  return constant.type === 'decimal' && isBelow(constant.unscaled, MAX_EXACT) && constant.scale <= MAX_SCALE
}

function isBelow(value: bigint, limit: bigint): boolean {
  return value <= limit && value >= -limit
}
