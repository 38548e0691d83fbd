import type { NestedField } from '../schema/types.ts'

/** `insert`, `delete`, `update_before` or `update_after` (Iceberg spec, "Reserved Field IDs"). */
export const CHANGE_TYPE: NestedField = {
  id: 2_147_483_543,
  name: '_change_type',
  required: true,
  type: { kind: 'string' },
}

/** Counts the snapshots in the order of their commits. */
export const CHANGE_ORDINAL: NestedField = {
  id: 2_147_483_542,
  name: '_change_ordinal',
  required: true,
  type: { kind: 'int' },
}

/** The snapshot that changed the row. */
export const COMMIT_SNAPSHOT_ID: NestedField = {
  id: 2_147_483_541,
  name: '_commit_snapshot_id',
  required: true,
  type: { kind: 'long' },
}

/** The columns of a change that rows of the table do not have. */
export const CHANGE_COLUMNS: readonly NestedField[] = [CHANGE_TYPE, CHANGE_ORDINAL, COMMIT_SNAPSHOT_ID]

/** What can happen to a row. */
export const CHANGE_TYPES = ['insert', 'delete', 'update_before', 'update_after'] as const

/** One of {@link CHANGE_TYPES}. */
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** Whether a column has the name of a column of changes, in any case. */
export function isChangeColumn({ name }: Pick<NestedField, 'name'>): boolean {
  return CHANGE_COLUMNS.some((column) => column.name === name.toLowerCase())
}
