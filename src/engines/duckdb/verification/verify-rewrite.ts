import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import { LAST_UPDATED, ROW_ID } from '../../../iceberg/schema/lineage-columns.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'
import type { ValueComparison } from '../../rewrite-result.ts'

import { RowSource } from '../scan/row-source.ts'
import { openInputs } from '../scan/inputs.ts'
import type { StageContext } from '../scan/stage-context.ts'

import { compareValues } from '../comparison/compare-values.ts'

export interface WrittenRows {
  /** The rows that were to be written, read a second time. */
  readonly source: RowSource
  /** The new files, in their final locations. */
  readonly files: readonly DataFile[]
  /** The columns of the table. */
  readonly fields: readonly NestedField[]
  /** Whether the v3 row lineage columns are part of the rows. */
  readonly withLineage: boolean
  /** Whether the rows are so wide that one thread reads them, first those of the source. */
  readonly isForOneThread: boolean
}

/**
 * Reads the rows to be written a second time and the new files back through the table's FileIO, and compares both by
 * value. Intermediate results of the writer (partitions, order, unfinished files) are not used. Both sides share the
 * reading: DuckDB's Parquet reader, the projection to the table's schema and the deletes.
 */
export async function verifyRewrite(
  context: StageContext,
  { source, files, fields, withLineage, isForOneThread }: WrittenRows,
): Promise<ValueComparison> {
  const startedAt = performance.now()
  const columns = { fields, withLineage }
  // what is written has no deletes yet, and stores its own lineage
  const tasks = files.map((dataFile) => ({ dataFile, sequenceNumber: 0, fileSequenceNumber: 0, deletes: [] }))
  const written = await RowSource.create(context, await openInputs(context, tasks, 'written'))
  const compared = withLineage ? [...fields, ROW_ID, LAST_UPDATED] : fields
  const { isEqual, differing } = await compareValues(context.run, {
    expected: source.liveRows(columns),
    found: files.length === 0 ? undefined : written.liveRows(columns),
    fields: compared,
    isForOneThread,
  })
  const names = (list: readonly NestedField[]): readonly string[] => list.map(({ name }) => name)
  return {
    isEqual,
    columns: names(compared),
    differing: names(differing),
    milliseconds: Math.round(performance.now() - startedAt),
  }
}
