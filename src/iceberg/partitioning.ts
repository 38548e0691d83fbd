import type { Value } from './types.ts'

/** A transform from a source column to a partition or sort value (Iceberg spec, "Partition Transforms"). */
export type Transform =
  | { readonly kind: 'identity' | 'year' | 'month' | 'day' | 'hour' | 'void' }
  | { readonly kind: 'bucket'; readonly buckets: number }
  | { readonly kind: 'truncate'; readonly width: number }
  | { readonly kind: 'unknown'; readonly text: string }

export interface PartitionField {
  readonly fieldId: number
  readonly sourceId: number
  readonly name: string
  readonly transform: Transform
}

/** How a table is (or was) partitioned; no fields means unpartitioned. */
export interface PartitionSpec {
  readonly specId: number
  readonly fields: readonly PartitionField[]
}

/** Partition values in the order of the spec's fields. */
export type PartitionTuple = readonly (Value | null)[]
