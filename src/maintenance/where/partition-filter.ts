import { IcebergError } from '../../iceberg/errors.ts'
import type { PartitionField } from '../../iceberg/partitioning/partitioning.ts'
import { applyTransform, transformResultType } from '../../iceberg/partitioning/transforms.ts'
import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { firstCodePoints } from '../../iceberg/values/truncate.ts'
import { compareValues } from '../../iceberg/values/values.ts'
import type { BoundCondition } from './bind.ts'
import { equalZero } from './literals.ts'
import type { ComparisonOperator } from './parser.ts'

/** Whether rows of a partition value may match a condition; never wrongly false. */
export type PartitionTest = (partitionValue: Value | null) => boolean

/** The test of a partition value that a condition on its source implies; undefined when it implies none. */
export function partitionTest(
  field: PartitionField,
  { type, condition }: Pick<BoundCondition, 'type' | 'condition'>,
): PartitionTest | undefined {
  const { transform } = field
  if (transform.kind === 'void' || transform.kind === 'unknown') return undefined
  if (condition.kind === 'null-test') return (value) => (value === null) === condition.isNull
  if (condition.kind === 'prefix') return prefixTest(transform, condition)
  const resultType = transformResultType(transform, type)
  const project = (value: Value): Value => {
    const projected = applyTransform(transform, type, value)
    if (projected === null)
      throw new IcebergError('INVALID_METADATA', `partition field ${field.name} maps a value to null`)
    return projected
  }
  const compare = (a: Value, b: Value): number => compareValues(resultType, equalZero(a), b)
  if (condition.kind === 'in') {
    if (condition.isNegated && transform.kind !== 'identity') return undefined
    const wanted = condition.values.map(project)
    const isWanted = (value: Value): boolean => wanted.some((candidate) => compare(value, candidate) === 0)
    return (value) => value !== null && isWanted(value) !== condition.isNegated
  }
  const bound = project(condition.value)
  const accepts = orderTest(condition.operator, transform.kind)
  if (accepts === undefined) return undefined
  const isWrapped = wrapTest(transform, type)
  // a wrapped value can mean the smallest or the largest numbers: only equality can be decided
  const decides = (value: Value): boolean => condition.operator === '=' || !(isWrapped(value) || isWrapped(bound))
  return (value) => value !== null && (!decides(value) || accepts(compare(value, bound)))
}

/** Whether a truncated integer may have wrapped around at the smallest number of its type. */
function wrapTest(transform: PartitionField['transform'], type: PrimitiveType): (value: Value) => boolean {
  if (transform.kind !== 'truncate' || (type.kind !== 'int' && type.kind !== 'long')) return () => false
  const greatest = type.kind === 'int' ? 2n ** 31n - 1n : 2n ** 63n - 1n
  const { width } = transform
  return (value) => (typeof value === 'number' || typeof value === 'bigint') && BigInt(value) > greatest - BigInt(width)
}

/** Which orders between a partition value and the transformed literal may hold for matching rows. */
function orderTest(operator: ComparisonOperator, transform: string): ((order: number) => boolean) | undefined {
  if (operator === '=') return (order) => order === 0
  if (transform === 'bucket') return undefined
  const exact = transform === 'identity'
  switch (operator) {
    case '!=':
      return exact ? (order) => order !== 0 : undefined
    case '<':
      return exact ? (order) => order < 0 : (order) => order <= 0
    case '<=':
      return (order) => order <= 0
    case '>':
      return exact ? (order) => order > 0 : (order) => order >= 0
    case '>=':
      return (order) => order >= 0
  }
}

/** Only identity and truncation keep the beginnings of texts. */
function prefixTest(
  transform: PartitionField['transform'],
  { prefix, isNegated }: { readonly prefix: string; readonly isNegated: boolean },
): PartitionTest | undefined {
  const begins = (text: string) => (value: Value | null) => typeof value === 'string' && value.startsWith(text)
  if (transform.kind === 'identity') {
    return isNegated ? (value) => value !== null && !begins(prefix)(value) : begins(prefix)
  }
  return transform.kind === 'truncate' && !isNegated ? begins(firstCodePoints(prefix, transform.width)) : undefined
}
