import type { NestedField } from '../../../iceberg/schema/types.ts'

/** Column of position delete files: the data file (Iceberg spec, "Position Delete Files"). */
export const FILE_PATH: NestedField = {
  id: 2_147_483_546,
  name: 'file_path',
  required: false,
  type: { kind: 'string' },
}

/** Column of position delete files: the row's position in the data file. */
export const POS: NestedField = { id: 2_147_483_545, name: 'pos', required: false, type: { kind: 'long' } }

/** The columns of position delete files that are read. */
export const DELETE_COLUMNS: readonly NestedField[] = [FILE_PATH, POS]
