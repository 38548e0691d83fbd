import type { NestedField } from './types.ts'

/** Reserved columns that keep a row's identity through rewrites (Iceberg spec, "Row Lineage"). */
export const ROW_ID: NestedField = { id: 2_147_483_540, name: '_row_id', required: false, type: { kind: 'long' } }
/** The sequence number of the commit that changed the row last. */
export const LAST_UPDATED: NestedField = {
  id: 2_147_483_539,
  name: '_last_updated_sequence_number',
  required: false,
  type: { kind: 'long' },
}
