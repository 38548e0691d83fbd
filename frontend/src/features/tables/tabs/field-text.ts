import type { Column, TableOverview } from '../../../api/types.ts'

type PartitionField = TableOverview['partition_spec']['fields'][number]
type SortField = TableOverview['sort_order']['fields'][number]
type Named = Pick<Column, 'id' | 'path'>

/** Partitioning as text: `day(started_at), bucket[16](customer)`; empty for none. Dropped columns show as `#id`. */
export function describePartitioning(fields: readonly PartitionField[], columns: readonly Named[]): string {
  return fields
    .filter(({ transform }) => transform !== 'void')
    .map(({ transform, source_id }) => transformed(transform, source_id, columns))
    .join(', ')
}

/** A sort order as text: `customer asc, day(at) desc nulls last`; empty for none. */
export function describeSortOrder(fields: readonly SortField[], columns: readonly Named[]): string {
  return fields.map((field) => sortText(field, columns)).join(', ')
}

function sortText({ transform, source_id, direction, null_order }: SortField, columns: readonly Named[]): string {
  const usual = direction === 'desc' ? 'nulls-last' : 'nulls-first'
  const nulls = null_order === usual ? '' : ` ${null_order.replace('-', ' ')}`
  return `${transformed(transform, source_id, columns)} ${direction}${nulls}`
}

function transformed(transform: string, sourceId: number, columns: readonly Named[]): string {
  const column = columns.find(({ id }) => id === sourceId)?.path ?? `#${sourceId}`
  return transform === 'identity' ? column : `${transform}(${column})`
}

/** Values of a partition: `day=2026-03-11, region=null`; empty for an unpartitioned table. */
export function describePartition(partition: Readonly<Record<string, string | null>>): string {
  return Object.entries(partition)
    .map(([name, value]) => `${name}=${value ?? 'null'}`)
    .join(', ')
}
