import type { Transform } from './partitioning.ts'

export interface SortField {
  readonly sourceId: number
  readonly transform: Transform
  readonly direction: 'asc' | 'desc'
  readonly nullOrder: 'nulls-first' | 'nulls-last'
}

/** A sort order (Iceberg spec, "Sorting"); order 0 is unsorted. */
export interface SortOrder {
  readonly orderId: number
  readonly fields: readonly SortField[]
}
