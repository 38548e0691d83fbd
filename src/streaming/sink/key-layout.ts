import { partitionIdBase, type PartitionSpec } from '../../iceberg/partitioning/partitioning.ts'
import type { SortOrder } from '../../iceberg/partitioning/sort-order.ts'
import type { Schema } from '../../iceberg/schema/schema.ts'
import type { NestedField } from '../../iceberg/schema/types.ts'

/** How a table is laid out whose rows are found by key. */
export interface KeyLayout {
  /** Undefined: not partitioned. */
  readonly partitionSpec?: PartitionSpec
  readonly sortOrder: SortOrder
}

/** Bytes of data in one partition; smaller ones would make many small files of each batch. */
const PARTITION_BYTES = 512 * 2 ** 20
const MAX_BUCKETS = 64

/**
 * Sorts by the key, so that the bounds of files tell which keys they have, and divides large tables by the first column of the key.
 * `expectedBytes` are those of the data files that the table will have at first.
 */
export function keyLayout(
  { fields: columns }: Pick<Schema, 'fields'>,
  key: readonly NestedField[],
  expectedBytes: number,
): KeyLayout {
  const fields = key.map(({ id }) => {
    return { sourceId: id, transform: { kind: 'identity' }, direction: 'asc', nullOrder: 'nulls-first' } as const
  })
  const sortOrder = { orderId: 1, fields }
  const [first] = key
  const buckets = Math.min(MAX_BUCKETS, 2 ** Math.floor(Math.log2(Math.max(1, expectedBytes / PARTITION_BYTES))))
  if (first === undefined || buckets < 2 || first.type.kind === 'boolean') return { sortOrder }
  const field = {
    fieldId: partitionIdBase + 1,
    sourceId: first.id,
    name: freeName(`${first.name}_bucket`, columns),
    transform: { kind: 'bucket', buckets } as const,
  }
  return { sortOrder, partitionSpec: { specId: 0, fields: [field] } }
}

/** A partition must not have the name of a column. */
function freeName(wanted: string, columns: readonly NestedField[]): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()))
  let name = wanted
  for (let n = 2; taken.has(name.toLowerCase()); n += 1) name = `${wanted}_${n}`
  return name
}
