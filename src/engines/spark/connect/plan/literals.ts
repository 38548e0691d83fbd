import { create } from '@bufbuild/protobuf'
import {
  DataTypeSchema,
  type Expression,
  type Expression_Literal,
  Expression_LiteralSchema,
  ExpressionSchema,
} from '../generated/expressions_pb.ts'
import { SparkError } from '../spark-error.ts'
import type { SparkLiteral, SparkSql } from '../spark-plan.ts'

type Literal = Expression_Literal['literalType']

/** The arguments of a query as literal expressions. */
export function namedArguments(sql: SparkSql): Record<string, Expression> {
  return Object.fromEntries(Object.entries(sql.args ?? {}).map(([name, value]) => [name, expression(name, value)]))
}

function expression(name: string, value: SparkLiteral): Expression {
  const literal = create(Expression_LiteralSchema, { literalType: literalOf(name, value) })
  return create(ExpressionSchema, { exprType: { case: 'literal', value: literal } })
}

function literalOf(name: string, value: SparkLiteral): Literal {
  switch (typeof value) {
    case 'string':
      return { case: 'string', value: wellFormed(name, value) }
    case 'boolean':
      return { case: 'boolean', value }
    case 'bigint':
      return { case: 'long', value: inRange(name, value) }
    case 'number':
      if (value !== (value | 0)) throw invalid(name, `${value} is no 32-bit integer`)
      return { case: 'integer', value }
    default:
      return objectLiteral(name, value)
  }
}

function objectLiteral(name: string, value: Extract<SparkLiteral, object | null>): Literal {
  if (value === null) return { case: 'null', value: create(DataTypeSchema, { kind: { case: 'null', value: {} } }) }
  if ('double' in value) return { case: 'double', value: value.double }
  return { case: 'timestamp', value: inRange(name, value.timestampMicros) }
}

function inRange(name: string, value: bigint): bigint {
  if (value !== BigInt.asIntN(64, value)) throw invalid(name, `${value} does not fit in 64 bits`)
  return value
}

function wellFormed(name: string, value: string): string {
  if (!value.isWellFormed()) throw invalid(name, 'the text is not valid Unicode')
  return value
}

function invalid(name: string, why: string): SparkError {
  return new SparkError('INVALID_ARGUMENT', `argument ${name}: ${why}`)
}
