import { IcebergError } from '../../iceberg/errors.ts'
import type { JsonValue } from '../../iceberg/json/lossless-json.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { PartitionField, PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import { findField } from '../../iceberg/schema/schema.ts'
import { applyTransform, transformResultType } from '../../iceberg/partitioning/transforms.ts'
import { isNested } from '../../iceberg/schema/types.ts'
import type { NestedField, PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { compareValues, valueFromJson } from '../../iceberg/values/values.ts'
import { parseWhere } from './where-parser.ts'
import type { ComparisonOperator, WhereCondition, WhereLiteral } from './where-parser.ts'

/** Whether a file of a partition may contain matching rows; exact for identity partitions, never wrongly false. */
export type PartitionFilter = (specId: number, partition: PartitionTuple) => boolean

type Test = (partitionValue: Value | null) => boolean

/**
 * Compiles a `where` text against a table. Every column must be the source of a field of the current partition spec
 * that can decide the condition; files of other specs without such a field may match. NULL matches `IS NULL` only.
 * Throws `INVALID_ARGUMENT` (naming the column or the literal), `NO_SUCH_COLUMN`.
 */
export function compilePartitionFilter(where: string, metadata: TableMetadata): PartitionFilter {
  const conditions = parseWhere(where).map((condition) => bindCondition(condition, metadata))
  const bySpec = new Map<number, readonly { readonly position: number; readonly test: Test }[]>()
  for (const spec of metadata.partitionSpecs) {
    const tests = conditions.flatMap(({ field, type, condition }) =>
      spec.fields.flatMap((partitionField, position) => {
        const test = partitionField.sourceId === field.id && compileTest(partitionField, type, condition)
        return test ? [{ position, test }] : []
      }),
    )
    bySpec.set(spec.specId, tests)
  }
  return (specId, partition) =>
    (bySpec.get(specId) ?? []).every(({ position, test }) => test(partition[position] ?? null))
}

interface BoundCondition {
  readonly field: NestedField
  readonly type: PrimitiveType
  readonly condition: TypedCondition
}

type TypedCondition =
  | { readonly kind: 'compare'; readonly operator: ComparisonOperator; readonly value: Value }
  | { readonly kind: 'in'; readonly values: readonly Value[] }
  | { readonly kind: 'null-test'; readonly isNull: boolean }

function bindCondition(condition: WhereCondition, metadata: TableMetadata): BoundCondition {
  const field = findField(currentSchema(metadata), condition.column)
  if (field === undefined) {
    throw new IcebergError('NO_SUCH_COLUMN', `where: the table has no column "${condition.column}"`)
  }
  if (isNested(field.type)) throw refused(condition.column, 'is not a column of a primitive type')
  const type = field.type
  const typed = typeCondition(condition, type)
  const usable = currentSpec(metadata).fields.some(
    (partitionField) => partitionField.sourceId === field.id && compileTest(partitionField, type, typed) !== undefined,
  )
  if (!usable) throw refused(condition.column, 'is not partitioned in a way that can decide this condition')
  return { field, type, condition: typed }
}

function typeCondition(condition: WhereCondition, type: PrimitiveType): TypedCondition {
  switch (condition.kind) {
    case 'compare': {
      const value = parseLiteral(condition.literal, type, condition.column)
      return { kind: 'compare', operator: condition.operator, value }
    }
    case 'in':
      return { kind: 'in', values: condition.literals.map((literal) => parseLiteral(literal, type, condition.column)) }
    default:
      return { kind: 'null-test', isNull: condition.isNull }
  }
}

/** The test of a partition value that a condition on its source implies; undefined when it implies none. */
function compileTest(field: PartitionField, type: PrimitiveType, condition: TypedCondition): Test | undefined {
  const { transform } = field
  if (transform.kind === 'void' || transform.kind === 'unknown') return undefined
  if (condition.kind === 'null-test') return (value) => (value === null) === condition.isNull
  const resultType = transformResultType(transform, type)
  const project = (value: Value): Value => {
    const projected = applyTransform(transform, type, value)
    if (projected === null)
      throw new IcebergError('INVALID_METADATA', `partition field ${field.name} maps a value to null`)
    return projected
  }
  const compare = (a: Value, b: Value): number => compareValues(resultType, equalZero(a), b)
  if (condition.kind === 'in') {
    const wanted = condition.values.map(project)
    return (value) => value !== null && wanted.some((candidate) => compare(value, candidate) === 0)
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

/** A partition value as predicates compare it: -0 equals 0. */
function equalZero(value: Value): Value {
  return value === 0 ? 0 : value
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

function parseLiteral(literal: WhereLiteral, type: PrimitiveType, column: string): Value {
  try {
    const value = valueFromJson(type, literalToJson(literal, type))
    return equalZero(value)
  } catch (error) {
    const shown = literal.quoted ? `'${literal.text}'` : literal.text
    throw new IcebergError('INVALID_ARGUMENT', `where: ${shown} is not a ${type.kind} value for column "${column}"`, {
      cause: error,
    })
  }
}

/** The JSON single value (Iceberg spec, Appendix D) of a literal; throws on a mismatch. */
function literalToJson({ quoted, text }: WhereLiteral, type: PrimitiveType): JsonValue {
  switch (type.kind) {
    case 'int':
    case 'long':
      return requireMatch(!quoted && /^[-+]?\d+$/.test(text), () => safeInteger(BigInt(text.replace(/^\+/, ''))))
    case 'float':
    case 'double':
      return requireMatch(!quoted && Number.isFinite(Number(text)), () => Number(text))
    case 'decimal':
      return requireMatch(!quoted, () => padDecimal(text, type.scale))
    case 'boolean':
      return requireMatch(!quoted && (text === 'true' || text === 'false'), () => text === 'true')
    case 'timestamp':
    case 'timestamp_ns':
    case 'timestamptz':
    case 'timestamptz_ns':
      return requireMatch(quoted, () => normalizeTimestamp(text, type.kind))
    case 'string':
    case 'date':
    case 'time':
    case 'uuid':
      return requireMatch(quoted, () => text)
    default:
      throw new RangeError(`type ${type.kind} has no literals`)
  }
}

function requireMatch(matches: boolean, value: () => JsonValue): JsonValue {
  if (!matches) throw new RangeError('wrong kind of literal')
  return value()
}

function safeInteger(value: bigint): JsonValue {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function padDecimal(text: string, scale: number): string {
  const match = /^([-+]?\d+)(?:\.(\d*))?$/.exec(text)
  const fraction = match?.[2] ?? ''
  if (match?.[1] === undefined || fraction.length > scale) throw new RangeError('wrong scale')
  const whole = match[1].replace(/^\+/, '')
  return scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, '0')}`
}

function normalizeTimestamp(text: string, kind: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(?::(\d{2})(\.\d+)?)?)?(Z|[+-]00:00)?$/.exec(text)
  const withZone = kind.startsWith('timestamptz')
  if (match === null || (match[5] !== undefined && !withZone)) throw new RangeError('not a timestamp')
  const digits = kind.endsWith('_ns') ? 9 : 6
  const fraction = (match[4] ?? '.').padEnd(digits + 1, '0')
  if (fraction.length > digits + 1) throw new RangeError('too many digits')
  return `${match[1]}T${match[2] ?? '00:00'}:${match[3] ?? '00'}${fraction}${withZone ? '+00:00' : ''}`
}

function refused(column: string, problem: string): IcebergError {
  return new IcebergError(
    'INVALID_ARGUMENT',
    `where: column "${column}" ${problem}; compaction chooses files by the current partition columns only`,
  )
}
