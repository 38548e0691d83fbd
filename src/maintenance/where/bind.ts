import { IcebergError } from '../../iceberg/errors.ts'
import { fieldChain, findField } from '../../iceberg/schema/schema.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import { isNested } from '../../iceberg/schema/types.ts'
import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { parseLiteral } from './literals.ts'
import type { ComparisonOperator, WhereCondition } from './parser.ts'

/** A condition with values of its column's type. */
export type TypedCondition =
  | { readonly kind: 'compare'; readonly operator: ComparisonOperator; readonly value: Value }
  | { readonly kind: 'in'; readonly isNegated: boolean; readonly values: readonly Value[] }
  | { readonly kind: 'prefix'; readonly isNegated: boolean; readonly prefix: string }
  | { readonly kind: 'null-test'; readonly isNull: boolean }

/** A condition and its column. */
export interface BoundCondition {
  readonly column: string
  readonly fieldId: number
  readonly type: PrimitiveType
  readonly condition: TypedCondition
}

/** Finds the column of a condition, and gives its literals the type of the column. `INVALID_ARGUMENT`, `NO_SUCH_COLUMN`. */
export function bindCondition(condition: WhereCondition, schema: Schema): BoundCondition {
  const { column } = condition
  const field = findField(schema, column)
  if (field === undefined) throw new IcebergError('NO_SUCH_COLUMN', `where: the table has no column "${column}"`)
  const isRepeated = fieldChain(schema, field.id).some(({ type }) => type.kind === 'list' || type.kind === 'map')
  if (isNested(field.type) || isRepeated) {
    throw new IcebergError('INVALID_ARGUMENT', `where: column "${column}" is not a column of a primitive type`)
  }
  return { column, fieldId: field.id, type: field.type, condition: typeCondition(condition, field.type) }
}

function typeCondition(condition: WhereCondition, type: PrimitiveType): TypedCondition {
  const { column } = condition
  switch (condition.kind) {
    case 'compare':
      return {
        kind: 'compare',
        operator: condition.operator,
        value: parseLiteral(condition.literal, type, column),
      }
    case 'in': {
      const values = condition.literals.map((literal) => parseLiteral(literal, type, column))
      return { kind: 'in', isNegated: condition.isNegated, values }
    }
    case 'prefix':
      if (type.kind === 'string') return condition
      throw new IcebergError('INVALID_ARGUMENT', `where: LIKE needs a column of texts; "${column}" is a ${type.kind}`)
    case 'null-test':
      return condition
  }
}
