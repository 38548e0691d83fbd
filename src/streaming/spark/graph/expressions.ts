import type { SqlExpression } from '../../../engines/sql-syntax.ts'
import { castValue } from './casts.ts'
import { OPERATORS } from './operators.ts'
import { Refusal, refuseFunction, refuseSyntax } from './refusal.ts'
import { constantValue, type SparkValue } from './values.ts'

/** Finds the column that a path names; throws a `Refusal` when there is none. */
export type ResolveColumn = (path: readonly string[]) => SparkValue

/** Expressions in expressions; Spark's parser needs its own stack for each. */
const MAX_DEPTH = 60
/** In characters: `BETWEEN` writes its value twice, so nested ones would grow without a limit. */
const MAX_LENGTH = 200_000

/** An expression over the columns of one row in Spark's SQL; throws a `Refusal` for what may differ there. */
export function translateExpression(expression: SqlExpression, resolve: ResolveColumn, depth = 0): SparkValue {
  if (depth > MAX_DEPTH) throw new Refusal(`an expression has more than ${MAX_DEPTH} levels`)
  const inner = (part: SqlExpression): SparkValue => translateExpression(part, resolve, depth + 1)
  switch (expression.kind) {
    case 'column':
      return resolve(expression.path)
    case 'constant':
      return constantValue(expression.value)
    case 'cast':
      return castValue(inner(expression.value), expression.type)
    case 'call': {
      const operator = OPERATORS.get(expression.name)
      if (operator === undefined) throw refuseFunction(expression.name)
      const value = operator(expression.args.map(inner))
      if (value.sql.length > MAX_LENGTH)
        throw new Refusal(`an expression has more than ${MAX_LENGTH} characters in Spark`)
      return value
    }
    case 'other':
      throw refuseSyntax(expression)
    default:
      return expression satisfies never
  }
}
