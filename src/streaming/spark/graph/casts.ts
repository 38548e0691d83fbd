import type { SqlType } from '../../../engines/sql-syntax.ts'
import type { Type } from '../../../iceberg/schema/types.ts'
import { sparkTypeName } from '../column-types.ts'
import { Refusal } from './refusal.ts'
import { temporalConstant } from './temporal-constants.ts'
import { constantValue, convert, isExact, type SparkValue } from './values.ts'
import { typeText } from './value-types.ts'

/** Types that a CAST may name, by the engine's names for them. */
const TYPES: Readonly<Record<string, Type>> = {
  BOOLEAN: { kind: 'boolean' },
  INTEGER: { kind: 'int' },
  BIGINT: { kind: 'long' },
  FLOAT: { kind: 'float' },
  DOUBLE: { kind: 'double' },
  VARCHAR: { kind: 'string' },
  DATE: { kind: 'date' },
  TIMESTAMP: { kind: 'timestamp' },
  'TIMESTAMP WITH TIME ZONE': { kind: 'timestamptz' },
}

/** A CAST that gives the same values in both engines, or fails in both; throws a `Refusal` for others. */
export function castValue(value: SparkValue, target: SqlType): SparkValue {
  const type = typeOf(target)
  const { constant, isNullable } = value
  if (type === undefined) throw new Refusal(`a CAST to ${target.name} is not translated for Spark`)
  if (constant?.type === 'text') {
    const found = textConstant(constant.value, type)
    if (found !== undefined) return found
  }
  if (typeText(value.type) === typeText(type)) return value
  if (value.type.kind === 'null' || isExact(value.type, type) || isConstantNumber(value, type)) {
    return { sql: convert(value, type), type, isNullable }
  }
  if (!failsAlike(value.type.kind, type.kind)) {
    throw new Refusal(`Spark may compute CAST from ${typeText(value.type)} to ${typeText(type)} differently`)
  }
  return { sql: `CAST(${value.sql} AS ${sparkTypeName(type)})`, type, isNullable }
}

function typeOf({ name, precision, scale }: SqlType): Type | undefined {
  if (name !== 'DECIMAL') return TYPES[name]
  return precision === undefined || scale === undefined ? undefined : { kind: 'decimal', precision, scale }
}

/** Text in a form that both engines read alike; `t` and `f` are how the engine writes TRUE and FALSE. */
function textConstant(text: string, type: Type): SparkValue | undefined {
  if (type.kind !== 'boolean') return temporalConstant(text, type)
  return text === 't' || text === 'f' ? constantValue({ type: 'boolean', value: text === 't' }) : undefined
}

function isConstantNumber({ constant }: SparkValue, type: Type): boolean {
  return type.kind === 'double' && (constant?.type === 'integer' || constant?.type === 'decimal')
}

/** Casts whose values are equal in both engines, and that fail in both for values that do not fit. */
function failsAlike(from: string, to: string): boolean {
  if (to === 'string') return from === 'int' || from === 'long' || from === 'boolean'
  if (to === 'decimal') return from === 'int' || from === 'long'
  return from === 'long' && to === 'int'
}
