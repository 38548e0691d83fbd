import type { ProjectedConversion } from '../../domain/tables/health-advice.ts'
import type { TableHealthFacts } from '../../domain/tables/table-health.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planConversion } from './plan.ts'

/** What a conversion of equality deletes would do to a table. */
export interface ConversionProjection extends Omit<ProjectedConversion, 'scoreAfter'> {
  readonly factsAfter: TableHealthFacts
}

/** Above this many data files, deletes are not planned for a projection: it would take too long. */
const MAX_PLANNED_FILES = 300_000
/** Data files times delete files: each data file with a vector has a list of its own of all equality deletes. */
const MAX_PLANNED_PAIRS = 20_000_000

/** Projects a conversion with default options; undefined when there is nothing to do, or it is not possible. */
export async function projectConversion(
  table: Table,
  facts: TableHealthFacts,
): Promise<ConversionProjection | undefined> {
  const { dataFiles, equalityDeletes: keys } = facts
  if (keys.count === 0 || dataFiles.count > MAX_PLANNED_FILES) return undefined
  if (dataFiles.count * keys.count > MAX_PLANNED_PAIRS) return undefined
  try {
    const { converted, needlessCount, groups, output } = await planConversion(table, {})
    if (converted.length === 0) return undefined
    const convertedBytes = converted.reduce((sum, { file }) => sum + file.fileSizeInBytes, 0)
    const convertedRows = converted.reduce((sum, { file }) => sum + file.recordCount, 0)
    const kind = output.kind === 'vectors' ? 'deletionVectors' : 'positionDeletes'
    const { equalityDeletes, [kind]: positions } = facts
    return {
      convertedFiles: converted.length,
      danglingFiles: needlessCount,
      addedFiles: output.expectedCount,
      searchedFiles: groups.reduce((sum, { inputs }) => sum + inputs.length, 0),
      readBytes: convertedBytes + groups.reduce((sum, { bytes }) => sum + bytes, 0),
      factsAfter: {
        ...facts,
        equalityDeletes: {
          count: equalityDeletes.count - converted.length,
          bytes: equalityDeletes.bytes - convertedBytes,
          records: equalityDeletes.records - convertedRows,
        },
        // a key deletes at most about one row
        [kind]: {
          ...positions,
          count: positions.count + output.expectedCount,
          records: positions.records + (needlessCount === converted.length ? 0 : convertedRows),
        },
      },
    }
  } catch (error) {
    // a property that cannot be used must not hide the rest of the report
    if (isIcebergError(error, 'UNSUPPORTED') || isIcebergError(error, 'INVALID_METADATA')) return undefined
    throw error
  }
}
