import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'

import type { ScanInput } from './inputs.ts'
import type { ScanBuild } from './scan-sql.ts'

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
