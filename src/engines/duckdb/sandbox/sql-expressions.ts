import type { JsonObject, JsonValue } from '../../../iceberg/json/lossless-json.ts'
import type { SqlExpression } from '../../sql-syntax.ts'
import { constantOf } from './sql-constants.ts'
import { isEmptyPart, listOf, objectOf, other, textIn } from './syntax-parts.ts'

/** Operators by their names in the engine's syntax tree. */
const OPERATORS: Readonly<Record<string, string>> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '<>',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
  COMPARE_DISTINCT_FROM: 'is distinct from',
  COMPARE_NOT_DISTINCT_FROM: 'is not distinct from',
  COMPARE_IN: 'in',
  COMPARE_NOT_IN: 'not in',
  CONJUNCTION_AND: 'and',
  CONJUNCTION_OR: 'or',
  OPERATOR_NOT: 'not',
  OPERATOR_IS_NULL: 'is null',
  OPERATOR_IS_NOT_NULL: 'is not null',
  OPERATOR_COALESCE: 'coalesce',
}

const OTHERS: Readonly<Record<string, string>> = {
  SUBQUERY: 'a subquery in an expression',
  COLLATE: 'COLLATE',
  LAMBDA: 'a lambda',
  STAR: '* in an expression',
  POSITIONAL_REFERENCE: 'a column by its position',
  DEFAULT: 'DEFAULT',
}

/** An expression of the engine's syntax tree. */
export function expressionOf(tree: JsonObject): SqlExpression {
  switch (textIn(tree, 'class')) {
    case 'COLUMN_REF':
      return { kind: 'column', path: listOf(tree['column_names']).map(String) }
    case 'CONSTANT':
      return constantOf(objectOf(tree['value']))
    case 'COMPARISON':
      return operation(tree, [tree['left'], tree['right']])
    case 'CONJUNCTION':
    case 'OPERATOR':
      return operation(tree, listOf(tree['children']))
    case 'BETWEEN':
      return call('between', [tree['input'], tree['lower'], tree['upper']])
    case 'CASE':
      return caseOf(tree)
    case 'CAST':
      return castOf(tree)
    case 'FUNCTION':
      return functionOf(tree)
    case 'WINDOW':
      return other(`the window function ${textIn(tree, 'function_name')}()`, { isPerBatch: true })
    default:
      return other(OTHERS[textIn(tree, 'class')] ?? 'an expression of this kind')
  }
}

function call(name: string, args: readonly (JsonValue | undefined)[]): SqlExpression {
  return { kind: 'call', name, args: args.map((arg) => expressionOf(objectOf(arg))) }
}

function operation(tree: JsonObject, args: readonly (JsonValue | undefined)[]): SqlExpression {
  const type = textIn(tree, 'type')
  const name = OPERATORS[type]
  return name === undefined ? other(`the operator ${type}`) : call(name, args)
}

function caseOf({ case_checks: checks, else_expr: otherwise }: JsonObject): SqlExpression {
  const pairs = listOf(checks).map(objectOf)
  return call('case', [...pairs.flatMap(({ when_expr: when, then_expr: then }) => [when, then]), otherwise])
}

function castOf({ child, cast_type: type, try_cast: isTry }: JsonObject): SqlExpression {
  if (isTry !== false) return other('TRY_CAST')
  const target = objectOf(type)
  const { width, scale } = objectOf(target['type_info'])
  const isDecimal = target['id'] === 'DECIMAL'
  if (!isDecimal && !isEmptyPart(target['type_info'])) return other('a CAST to a type with parts')
  const size = isDecimal ? { precision: Number(width), scale: Number(scale) } : {}
  return { kind: 'cast', type: { name: textIn(target, 'id'), ...size }, value: expressionOf(objectOf(child)) }
}

function functionOf(tree: JsonObject): SqlExpression {
  const name = textIn(tree, 'function_name').toLowerCase()
  const isPlain =
    isEmptyPart(tree['filter']) && isEmptyPart(tree['distinct']) && isEmptyPart(objectOf(tree['order_bys'])['orders'])
  if (!isPlain) return other(`the aggregate ${name}()`, { isPerBatch: true })
  // in `s.length()` the column is the qualifier, and no argument
  if (!isEmptyPart(tree['schema']) || !isEmptyPart(tree['catalog'])) return other(`a qualifier before ${name}()`)
  return call(name, listOf(tree['children']))
}
