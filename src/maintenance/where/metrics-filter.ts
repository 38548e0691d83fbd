import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import type { PrimitiveType, Value } from '../../iceberg/schema/types.ts'
import { valueFromBytes } from '../../iceberg/values/binary.ts'
import { firstCodePoints } from '../../iceberg/values/truncate.ts'
import { compareValues } from '../../iceberg/values/values.ts'
import type { BoundCondition, TypedCondition } from './bind.ts'
import { equalZero } from './literals.ts'

/** The metrics of a file's columns; a column without an entry may have any values. */
export type FileMetrics = Pick<
  DataFile,
  'valueCounts' | 'nullValueCounts' | 'nanValueCounts' | 'lowerBounds' | 'upperBounds'
>

/** The bounds of a column in a file: NaN and NULL are outside of them; undefined when a bound is not known. */
interface ColumnRange {
  readonly lower: Value | undefined
  readonly upper: Value | undefined
}

/** The bounds of a column in a file, of the type that the column has now. */
function columnRange(file: FileMetrics, fieldId: number, type: PrimitiveType): ColumnRange {
  // Parquet and Java order uuids differently
  if (type.kind === 'uuid') return { lower: undefined, upper: undefined }
  return {
    lower: readBound(type, file.lowerBounds?.get(fieldId)),
    upper: readBound(type, file.upperBounds?.get(fieldId)),
  }
}

/** Both bounds of a column in a file; undefined when one is not known. */
export function fileRange(
  file: FileMetrics,
  fieldId: number,
  type: PrimitiveType,
): { readonly lower: Value; readonly upper: Value } | undefined {
  const { lower, upper } = columnRange(file, fieldId, type)
  return lower === undefined || upper === undefined ? undefined : { lower, upper }
}

/** Whether a file has only NULL in a column. */
export function hasOnlyNulls({ valueCounts, nullValueCounts }: FileMetrics, fieldId: number): boolean {
  const values = valueCounts?.get(fieldId)
  return values !== undefined && values === nullValueCounts?.get(fieldId)
}

/** Whether the metrics of a file permit rows that match a condition (Iceberg spec, "Scan Planning"); never wrongly false. */
export function mayMatchMetrics(file: FileMetrics, { fieldId, type, condition }: BoundCondition): boolean {
  if (condition.kind === 'null-test') {
    return condition.isNull ? file.nullValueCounts?.get(fieldId) !== 0 : !hasOnlyNulls(file, fieldId)
  }
  if (hasOnlyNulls(file, fieldId)) return false
  const range = columnRange(file, fieldId, type)
  return mayMatchRange(condition, range, type) || mayMatchNaN(condition, file, { fieldId, type })
}

function mayMatchRange(
  condition: Exclude<TypedCondition, { kind: 'null-test' }>,
  range: ColumnRange,
  type: PrimitiveType,
): boolean {
  const { lower, upper } = range
  const compare = (a: Value, b: Value): number => compareValues(type, equalZero(a), b)
  const includes = (value: Value): boolean =>
    (lower === undefined || compare(lower, value) <= 0) && (upper === undefined || compare(upper, value) >= 0)
  switch (condition.kind) {
    case 'in':
      return condition.isNegated || condition.values.some(includes)
    case 'prefix':
      return condition.isNegated || mayBegin(range, condition.prefix)
    case 'compare':
  }
  const { operator, value } = condition
  switch (operator) {
    case '=':
      return includes(value)
    case '!=':
      return true // bounds may be of truncated values
    case '<':
      return lower === undefined || compare(lower, value) < 0
    case '<=':
      return lower === undefined || compare(lower, value) <= 0
    case '>':
      return upper === undefined || compare(upper, value) > 0
    case '>=':
      return upper === undefined || compare(upper, value) >= 0
  }
}

function mayBegin({ lower, upper }: ColumnRange, prefix: string): boolean {
  const length = Array.from(prefix).length
  const order = (bound: Value | undefined): number | undefined =>
    typeof bound === 'string' ? compareValues({ kind: 'string' }, firstCodePoints(bound, length), prefix) : undefined
  return (order(lower) ?? 0) <= 0 && (order(upper) ?? 0) >= 0
}

/** NaN is above all values, and no bound says that a file has it. */
function mayMatchNaN(
  condition: TypedCondition,
  file: FileMetrics,
  { fieldId, type }: { readonly fieldId: number; readonly type: PrimitiveType },
): boolean {
  if (type.kind !== 'float' && type.kind !== 'double') return false
  if (condition.kind !== 'compare' || !(condition.operator === '>' || condition.operator === '>=')) return false
  return file.nanValueCounts?.get(fieldId) !== 0
}

function readBound(type: PrimitiveType, bytes: Uint8Array | undefined): Value | undefined {
  if (bytes === undefined) return undefined
  try {
    const value = valueFromBytes(type, bytes)
    return Number.isNaN(value) ? undefined : value // no bound (Iceberg spec, "Bounds")
  } catch {
    return undefined // damaged, or of a newer kind of bound
  }
}
