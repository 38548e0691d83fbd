import type { NestedField } from '../../../iceberg/schema/types.ts'

import type { ScanInput } from './inputs.ts'
import type { ScanBuild } from './scan-sql.ts'

/** Reserved columns that keep a row's identity through rewrites (Iceberg spec, "Row Lineage"). */
export const ROW_ID: NestedField = { id: 2_147_483_540, name: '_row_id', required: false, type: { kind: 'long' } }
export const LAST_UPDATED: NestedField = {
  id: 2_147_483_539,
  name: '_last_updated_sequence_number',
  required: false,
  type: { kind: 'long' },
}

/**
 * The lineage columns of a scan: the stored values, else the file's first row id plus the position, and the data
 * sequence number of the file's entry; both stay null where the file has no first row id yet.
 */
export const lineageColumns = {
  aliases: [`c${ROW_ID.id}`, `c${LAST_UPDATED.id}`],
  extraFor:
    (inputs: readonly ScanInput[]) =>
    ({ constants, position, fileColumn }: ScanBuild): readonly string[] => {
      const first = constants.column(inputs.map(({ file }) => bigintOrNull(file.firstRowId)))
      const sequence = constants.column(
        inputs.map(({ file, task }) => bigintOrNull(file.firstRowId === undefined ? undefined : task.sequenceNumber)),
      )
      const stored = (id: number): string => `CAST(${fileColumn(id) ?? 'NULL'} AS BIGINT)`
      return [
        `coalesce(${stored(ROW_ID.id)}, ${first} + ${position}) AS c${ROW_ID.id}`,
        `coalesce(${stored(LAST_UPDATED.id)}, ${sequence}) AS c${LAST_UPDATED.id}`,
      ]
    },
}

function bigintOrNull(value: number | undefined): string {
  return value === undefined ? 'NULL::BIGINT' : `${value}::BIGINT`
}
