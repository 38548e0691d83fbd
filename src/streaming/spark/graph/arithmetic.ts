import type { DecimalType } from '../../../iceberg/schema/types.ts'
import { sparkTypeName } from '../column-types.ts'
import { Refusal } from './refusal.ts'
import { convert, isSmallestInteger, type SparkValue } from './values.ts'
import { asDecimal, commonType, typeText, type ValueType } from './value-types.ts'

type Sign = '+' | '-' | '*'

/**
 * A sum, difference or product: of integers, where both engines fail on an overflow; of doubles (IEEE 754); of decimals
 * when the result has room for every digit.
 */
export function arithmetic(sign: Sign, args: readonly SparkValue[]): SparkValue {
  const [left, right] = args
  const type = left && right && !args.some(isSmallestInteger) ? resultType(sign, left.type, right.type) : undefined
  if (left === undefined || right === undefined || type === undefined) {
    const types = args.map((arg) => typeText(arg.type)).join(' and ')
    throw new Refusal(`Spark may compute the operator ${sign} differently for ${types}`)
  }
  const isNullable = args.some((arg) => arg.isNullable)
  if (type.kind !== 'decimal')
    return { sql: `(${convert(left, type)} ${sign} ${convert(right, type)})`, type, isNullable }
  const [a, b] = args.map((arg) => (arg.type.kind === 'decimal' ? arg.sql : convert(arg, asDecimal(arg.type) ?? type)))
  return { sql: `CAST((${a} ${sign} ${b}) AS ${sparkTypeName(type)})`, type, isNullable }
}

function resultType(sign: Sign, left: ValueType, right: ValueType): ValueType | undefined {
  const common = left.kind === 'null' || right.kind === 'null' ? undefined : commonType(left, right)
  if (common === undefined || COMPUTED.has(common.kind)) return common
  const [a, b] = [asDecimal(left), asDecimal(right)]
  return common.kind === 'decimal' && a && b ? decimalResult(sign, a, b) : undefined
}

/** Types whose results have the same type. */
const COMPUTED: ReadonlySet<string> = new Set(['int', 'long', 'double'])

/** The exact result; undefined when it may have more digits than the engines keep. */
function decimalResult(sign: Sign, a: DecimalType, b: DecimalType): DecimalType | undefined {
  const scale = sign === '*' ? a.scale + b.scale : Math.max(a.scale, b.scale)
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale)
  const precision = sign === '*' ? a.precision + b.precision : whole + scale + 1
  // DuckDB keeps results of decimals of up to 18 digits at 18 digits, and both engines have at most 38; Spark needs one more
  const limit = Math.max(a.precision, b.precision) <= 18 ? 18 : 37
  return precision > limit ? undefined : { kind: 'decimal', precision, scale }
}

/** The negative of a number; both engines fail for the smallest integer. */
export function negation(value: SparkValue): SparkValue {
  const { type, isNullable } = value
  if (!['int', 'long', 'decimal', 'double'].includes(type.kind)) {
    throw new Refusal(`Spark may compute the operator - differently for ${typeText(type)}`)
  }
  return { sql: `(- ${value.sql})`, type, isNullable }
}

/** The remainder by a positive constant: by zero, DuckDB gives NULL and Spark fails. */
export function remainder([value, divisor]: readonly SparkValue[]): SparkValue {
  const isKnown = value && divisor && isPositive(divisor) && !isSmallestInteger(value)
  const type = isKnown ? commonType(value.type, divisor.type) : undefined
  if (value && divisor && (type?.kind === 'int' || type?.kind === 'long')) {
    return { sql: `(${convert(value, type)} % ${convert(divisor, type)})`, type, isNullable: value.isNullable }
  }
  throw new Refusal('Spark may compute the operator % differently, except for integers and a positive constant')
}

function isPositive({ constant }: SparkValue): boolean {
  return constant?.type === 'integer' && constant.value > 0n
}
