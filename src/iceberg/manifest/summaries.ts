import type { FieldSummary } from './manifest.ts'
import type { PartitionSpec, PartitionTuple } from '../partitioning/partitioning.ts'
import type { PrimitiveType, Value } from '../schema/types.ts'
import { compareValues, valueToBytes } from '../values/values.ts'

/**
 * Summaries of the partition values of all entries, for the manifest list (Iceberg spec, field 507): whether nulls and
 * NaNs occur, and the smallest and largest other value. Readers skip manifests by them, so a wrong one hides rows.
 *
 * Empty for an unpartitioned spec; undefined, meaning unknown, when some field has values whose order is not known
 * (an unknown transform, a column that is no longer in any schema).
 */
export function summarizePartitions(
  spec: PartitionSpec,
  types: readonly PrimitiveType[],
  tuples: Iterable<PartitionTuple>,
): FieldSummary[] | undefined {
  const ranges = spec.fields.map((_, index) => new FieldRange(types[index] ?? { kind: 'unknown' }))
  for (const tuple of tuples) {
    for (const [index, range] of ranges.entries()) range.add(tuple[index] ?? null)
  }
  const orderIsUnknown = spec.fields.some((field, index) => {
    const unknown = field.transform.kind === 'unknown' || types[index]?.kind === 'unknown'
    return unknown && ranges[index]?.hasValues
  })
  return orderIsUnknown ? undefined : ranges.map((range) => range.summary())
}

class FieldRange {
  readonly #type: PrimitiveType
  #containsNull = false
  #containsNan = false
  #lower: Value | undefined
  #upper: Value | undefined

  constructor(type: PrimitiveType) {
    this.#type = type
  }

  get hasValues(): boolean {
    return this.#lower !== undefined
  }

  add(value: Value | null): void {
    if (value === null) {
      this.#containsNull = true
    } else if (Number.isNaN(value)) {
      this.#containsNan = true
    } else if (this.#lower === undefined || this.#upper === undefined || this.#type.kind === 'unknown') {
      this.#lower = value
      this.#upper = value
    } else {
      if (compareValues(this.#type, value, this.#lower) < 0) this.#lower = value
      if (compareValues(this.#type, value, this.#upper) > 0) this.#upper = value
    }
  }

  summary(): FieldSummary {
    const flags = { containsNull: this.#containsNull, containsNan: this.#containsNan }
    if (this.#lower === undefined || this.#upper === undefined) return flags
    const lowerBound = valueToBytes(this.#type, this.#lower)
    return { ...flags, lowerBound, upperBound: valueToBytes(this.#type, this.#upper) }
  }
}
